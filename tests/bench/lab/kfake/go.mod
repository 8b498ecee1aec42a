module lab.test/kfake

go 1.22

require github.com/twmb/franz-go/pkg/kfake v0.0.0-20250320172111-35ab5e5f5327

require (
	github.com/twmb/franz-go v1.18.1 // indirect
	github.com/twmb/franz-go/pkg/kmsg v1.9.0 // indirect
	golang.org/x/crypto v0.32.0 // indirect
)
