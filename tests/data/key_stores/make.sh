#!/bin/sh
# Makes the key stores of this folder anew.
set -eu
make() { keytool -storepass store-secret "$@"; }
rm -f ./*.jks ./*.p12
key="-genkeypair -keyalg EC -groupname secp256r1 -validity 36500 -storepass store-secret"
keytool $key -alias ca -dname "CN=Store Authority" -ext bc:c -keystore ca.p12 -storetype PKCS12
keytool $key -alias broker -dname CN=broker.example.test -keystore keystore.jks -storetype JKS \
    -keypass key-secret
make -exportcert -alias ca -keystore ca.p12 -rfc -file ca.pem
make -certreq -alias broker -keystore keystore.jks -keypass key-secret |
    make -gencert -alias ca -keystore ca.p12 -validity 36500 -rfc \
        -ext san=dns:broker.example.test -outfile broker.pem
make -importcert -alias ca -file ca.pem -keystore keystore.jks -noprompt
make -importcert -alias broker -file broker.pem -keystore keystore.jks -keypass key-secret
make -delete -alias ca -keystore keystore.jks
make -importkeystore -srckeystore keystore.jks -srcstorepass store-secret -srckeypass key-secret \
    -srcalias broker -destkeystore keystore.p12 -deststoretype PKCS12 -deststorepass store-secret \
    -destkeypass store-secret
for kind in JKS PKCS12; do
    file=truststore.$([ $kind = JKS ] && echo jks || echo p12)
    make -importcert -alias ca -file ca.pem -keystore $file -storetype $kind -noprompt
done
rm ca.p12 ca.pem broker.pem
