import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeStreamsGroupsOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupTopologyDescriptionUpdateRequestData;
import org.apache.kafka.common.message.StreamsGroupTopologyDescriptionUpdateRequestData.TopologyDescription;
import org.apache.kafka.common.message.StreamsGroupTopologyDescriptionUpdateRequestData.TopologyDescriptionNode;
import org.apache.kafka.common.message.StreamsGroupTopologyDescriptionUpdateRequestData.TopologyDescriptionSubtopology;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatRequest;
import org.apache.kafka.common.requests.StreamsGroupTopologyDescriptionUpdateRequest;

/** Java clients of Kafka 4.4 that do something worth recording. Usage: transaction|kafka_4_4 HOST PORT. */
public class Clients {
    public static void main(String[] args) throws Exception {
        String host = args[1];
        int port = Integer.parseInt(args[2]);
        switch (args[0]) {
            case "transaction" -> new Transaction(host + ":" + port).run();
            case "kafka_4_4" -> new Newest(host, port).run();
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    static Properties config(String bootstrap, String clientId, String... pairs) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("client.id", clientId);
        for (String side : new String[] {"key", "value"}) {
            config.put(side + ".serializer", "org.apache.kafka.common.serialization.StringSerializer");
            config.put(side + ".deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        }
        for (int i = 0; i < pairs.length; i += 2) config.put(pairs[i], pairs[i + 1]);
        return config;
    }

    /** Reads orders and writes payments: one transaction commits with its offsets, one aborts. */
    record Transaction(String bootstrap) {
        void run() throws Exception {
            try (KafkaProducer<String, String> producer = new KafkaProducer<>(config(bootstrap, "order-writer"))) {
                for (int i = 0; i < 6; i++) producer.send(new ProducerRecord<>("orders", "order-" + i, "amount-" + i)).get();
            }
            Properties writer = config(bootstrap, "payment-writer", "transactional.id", "payments-1", "compression.type", "zstd");
            try (KafkaProducer<String, String> producer = new KafkaProducer<>(writer);
                    KafkaConsumer<String, String> consumer = reader("payment-reader", "payments")) {
                producer.initTransactions();
                consumer.subscribe(List.of("orders"));
                commit(producer, consumer);
                producer.beginTransaction();
                for (int i = 0; i < 4; i++) producer.send(new ProducerRecord<>("payments", "aborted-" + i, "never"));
                producer.flush();
                producer.abortTransaction();
                System.out.println("aborted: 4");
            }
            try (KafkaConsumer<String, String> consumer = reader("auditor", "audit")) {
                consumer.subscribe(List.of("payments"));
                System.out.println("read as committed: " + read(consumer, 6).size());
            }
        }

        private KafkaConsumer<String, String> reader(String clientId, String group) {
            return new KafkaConsumer<>(config(bootstrap, clientId, "group.id", group, "isolation.level", "read_committed",
                    "auto.offset.reset", "earliest", "enable.auto.commit", "false"));
        }

        private void commit(KafkaProducer<String, String> producer, KafkaConsumer<String, String> consumer) {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            List<ConsumerRecord<String, String>> orders = read(consumer, 6);
            producer.beginTransaction();
            for (ConsumerRecord<String, String> order : orders) {
                producer.send(new ProducerRecord<>("payments", order.key(), order.value()));
                offsets.put(new TopicPartition(order.topic(), order.partition()), new OffsetAndMetadata(order.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
            System.out.println("committed: " + orders.size());
        }

        private List<ConsumerRecord<String, String>> read(KafkaConsumer<String, String> consumer, int count) {
            List<ConsumerRecord<String, String>> records = new java.util.ArrayList<>();
            while (records.size() < count) consumer.poll(Duration.ofSeconds(1)).forEach(records::add);
            return records;
        }
    }

    /** Speaks what no Kafka before 4.4 does: a streams member by hand, then an administrator. */
    record Newest(String host, int port) {
        void run() throws Exception {
            try (Socket member = new Socket(host, port);
                    Admin admin = Admin.create(config(host + ":" + port, "administrator", "retry.backoff.ms", "1000"))) {
                tell("describeStreamsGroups", () -> admin.describeStreamsGroups(List.of("word-count")).all().get());    // waits for the coordinator
                ask(member, 1, new StreamsGroupHeartbeatRequest.Builder(join()));
                ask(member, 2, new StreamsGroupTopologyDescriptionUpdateRequest.Builder(topology()));
                ask(member, 3, new StreamsGroupHeartbeatRequest.Builder(heartbeat(2)));
                ask(member, 4, new StreamsGroupHeartbeatRequest.Builder(heartbeat(1)));
                tell("describeStreamsGroups", () -> admin.describeStreamsGroups(List.of("word-count"),
                        new DescribeStreamsGroupsOptions().includeTopologyDescription(true)).all().get());
                tell("deleteConsumerGroups", () -> admin.deleteConsumerGroups(List.of("word-count")).all().get());
                ask(member, 5, new StreamsGroupHeartbeatRequest.Builder(heartbeat(-1)));
                tell("deleteStreamsGroups", () -> admin.deleteStreamsGroups(List.of("word-count", "no-such-group")).all().get());
                tell("unregisterController", () -> admin.unregisterController(99).all().get());
            }
        }

        interface Call {
            Object get() throws ExecutionException, InterruptedException;
        }

        private void tell(String name, Call call) throws InterruptedException {
            String result = "done";
            try {
                call.get();
            } catch (ExecutionException e) {
                result = e.getCause().getClass().getSimpleName();
            }
            System.out.println(name + ": " + result);
        }

        private StreamsGroupHeartbeatRequestData heartbeat(int epoch) {
            return new StreamsGroupHeartbeatRequestData().setGroupId("word-count").setMemberId("member-1").setMemberEpoch(epoch);
        }

        private StreamsGroupHeartbeatRequestData join() {
            StreamsGroupHeartbeatRequestData.Subtopology only = new StreamsGroupHeartbeatRequestData.Subtopology()
                    .setSubtopologyId("0").setSourceTopics(List.of("words"));
            return heartbeat(0).setProcessId("process-1").setRebalanceTimeoutMs(60_000)
                    .setTopology(new StreamsGroupHeartbeatRequestData.Topology().setEpoch(0).setSubtopologies(List.of(only)))
                    .setActiveTasks(List.of()).setStandbyTasks(List.of()).setWarmupTasks(List.of());
        }

        private StreamsGroupTopologyDescriptionUpdateRequestData topology() {
            TopologyDescriptionNode source = new TopologyDescriptionNode().setName("KSTREAM-SOURCE-0000000000")
                    .setNodeType((byte) 1).setSourceTopics(List.of("words")).setSuccessors(List.of("KSTREAM-SINK-0000000001"));
            TopologyDescriptionNode sink = new TopologyDescriptionNode().setName("KSTREAM-SINK-0000000001")
                    .setNodeType((byte) 3).setSinkTopic("counts");
            return new StreamsGroupTopologyDescriptionUpdateRequestData().setGroupId("word-count").setMemberId("member-1")
                    .setTopologyEpoch(0).setTopologyDescription(new TopologyDescription().setSubtopologies(List.of(
                            new TopologyDescriptionSubtopology().setSubtopologyId("0").setNodes(List.of(source, sink)))));
        }

        private void ask(Socket member, int correlationId, AbstractRequest.Builder<?> builder) throws IOException {
            AbstractRequest request = builder.build(builder.latestAllowedVersion());
            RequestHeader header = new RequestHeader(request.apiKey(), request.version(), "streams-member", correlationId);
            ByteBuffer bytes = request.serializeWithHeader(header);
            DataOutputStream out = new DataOutputStream(member.getOutputStream());
            byte[] framed = new byte[4 + bytes.remaining()];
            ByteBuffer.wrap(framed).putInt(bytes.remaining()).put(bytes);
            out.write(framed);
            DataInputStream in = new DataInputStream(member.getInputStream());
            ByteBuffer answer = ByteBuffer.wrap(in.readNBytes(in.readInt()));
            AbstractResponse response = AbstractResponse.parseResponse(answer, header);
            System.out.println(request.apiKey() + " v" + request.version() + ": " + response.errorCounts().keySet());
        }
    }
}
