// What franz-go does with a cluster, for tests. Usage: franz BOOTSTRAP NAME STAGE...
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	seeds  []string
	name   string
	ctx    context.Context
	result = map[string]any{}
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func client(options ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(seeds...)}, options...)...)
	must(err)
	return made
}

func records() {
	admin := client()
	request := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 2, 1
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, admin)
	must(err)
	result["created"] = response.Topics[0].ErrorCode
	admin.Close()
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	acks := map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}
	// What is not acknowledged comes last: by then the broker surely has the new topic.
	order := []string{"all", "1", "0"}
	count := 0
	for _, ack := range order {
		for codec, compression := range codecs {
			required := acks[ack]
			options := []kgo.Opt{
				kgo.ProducerBatchCompression(compression), kgo.RequiredAcks(required),
				kgo.RecordPartitioner(kgo.ManualPartitioner()),
			}
			if ack != "all" {
				options = append(options, kgo.DisableIdempotentWrite())
			}
			producer := client(options...)
			value := strings.Repeat(codec+" "+ack+" ", 40)
			record := &kgo.Record{Topic: name, Partition: 0, Key: []byte("key"), Value: []byte(value)}
			must(producer.ProduceSync(ctx, record).FirstErr())
			producer.Close()
			count++
		}
	}
	result["produced"] = count
}

type member struct {
	client   *kgo.Client
	lock     sync.Mutex
	held     int
	values   []string
	stopping context.CancelFunc
	done     chan struct{}
}

func join() *member {
	m := &member{done: make(chan struct{})}
	add := func(n int, topics map[string][]int32) {
		m.lock.Lock()
		defer m.lock.Unlock()
		for _, partitions := range topics {
			m.held += n * len(partitions)
		}
	}
	m.client = client(
		kgo.ConsumerGroup(name), kgo.ConsumeTopics(name), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(200*time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, t map[string][]int32) { add(1, t) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, t map[string][]int32) { add(-1, t) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, t map[string][]int32) { add(-1, t) }),
	)
	var polling context.Context
	polling, m.stopping = context.WithCancel(ctx)
	go func() {
		defer close(m.done)
		for polling.Err() == nil {
			m.client.PollFetches(polling).EachRecord(func(r *kgo.Record) {
				m.lock.Lock()
				m.values = append(m.values, string(r.Value))
				m.lock.Unlock()
			})
		}
	}()
	return m
}

func (m *member) until(condition func() bool) {
	for {
		m.lock.Lock()
		holds := condition()
		m.lock.Unlock()
		if holds {
			return
		}
		must(ctx.Err())
		time.Sleep(10 * time.Millisecond)
	}
}

func (m *member) holds(n int) { m.until(func() bool { return m.held == n }) }

func (m *member) reads(n int) { m.until(func() bool { return len(m.values) >= n }) }

func (m *member) leave() {
	m.stopping()
	<-m.done
	must(m.client.CommitUncommittedOffsets(ctx))
	m.client.Close()
}

func groups() {
	first := join()
	first.holds(2)
	first.reads(result["produced"].(int))
	second := join()
	second.holds(1)
	first.holds(1)
	second.leave()
	first.holds(2)
	first.leave()
	producer := client()
	must(producer.ProduceSync(ctx, &kgo.Record{Topic: name, Value: []byte("later")}).FirstErr())
	producer.Close()
	third := join()
	third.reads(1)
	third.leave()
	result["shared"], result["resumed"] = []int{2, 1, 1, 2}, third.values
}

func transactions() {
	producer := client(
		kgo.TransactionalID(name), kgo.DefaultProduceTopic(name), kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	for _, value := range []string{"committed", "aborted", "last"} {
		must(producer.BeginTransaction())
		must(producer.ProduceSync(ctx, &kgo.Record{Partition: 1, Value: []byte(value)}).FirstErr())
		must(producer.EndTransaction(ctx, kgo.TransactionEndTry(value != "aborted")))
	}
	producer.Close()
	reader := client(
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: {1: kgo.NewOffset().AtStart()}}),
	)
	values, last := []string{}, ""
	for last != "last" {
		must(ctx.Err())
		reader.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			last = string(r.Value)
			if last != "later" {
				values = append(values, last)
			}
		})
	}
	reader.Close()
	result["transactions"] = values
}

func steady() {
	seconds, err := strconv.Atoi(os.Getenv("STEADY_S"))
	if err != nil {
		seconds = 60
	}
	both := client(kgo.ConsumerGroup(name), kgo.ConsumeTopics(name))
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for time.Now().Before(end) {
		both.Produce(context.Background(), &kgo.Record{Topic: name, Value: []byte("a record of some bytes")}, nil)
		paced, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		both.PollFetches(paced)
		cancel()
	}
	must(both.Flush(context.Background()))
	both.Close()
}

func main() {
	seeds, name = strings.Split(os.Args[1], ","), os.Args[2]
	var cancel context.CancelFunc
	ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stages := map[string]func(){"records": records, "groups": groups, "transactions": transactions, "steady": steady}
	for _, stage := range os.Args[3:] {
		stages[stage]()
	}
	printed, err := json.Marshal(result)
	must(err)
	fmt.Println(string(printed))
}
