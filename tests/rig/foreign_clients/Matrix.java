import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** What Kafka's Java clients do with a cluster, for tests. Usage: BOOTSTRAP NAME STAGE... */
public class Matrix {
    static String bootstrap, name;
    static int produced;
    static final List<String> result = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        name = args[1];
        for (String stage : List.of(args).subList(2, args.length)) {
            switch (stage) {
                case "records" -> records();
                case "groups" -> groups();
                case "transactions" -> transactions();
                case "steady" -> steady();
                default -> throw new IllegalArgumentException(stage);
            }
        }
        System.out.println("{" + String.join(",", result) + "}");
        System.exit(0);
    }

    static Properties config(String... pairs) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        for (String side : new String[] {"key", "value"}) {
            config.put(side + ".serializer", "org.apache.kafka.common.serialization.StringSerializer");
            config.put(side + ".deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        }
        for (int i = 0; i < pairs.length; i += 2) config.put(pairs[i], pairs[i + 1]);
        return config;
    }

    static void records() throws Exception {
        try (Admin admin = Admin.create(config())) {
            admin.createTopics(List.of(new NewTopic(name, 2, (short) 1))).all().get();
        }
        for (String acks : List.of("all", "1", "0")) {
            for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
                Properties config = config("compression.type", codec, "acks", acks, "enable.idempotence", String.valueOf(acks.equals("all")));
                try (KafkaProducer<String, String> producer = new KafkaProducer<>(config)) {
                    producer.send(new ProducerRecord<>(name, 0, "key", (codec + " " + acks + " ").repeat(40))).get();
                    produced++;
                }
            }
        }
        result.add("\"created\":0,\"produced\":" + produced);
    }

    /** A member of the group; the threads of all members are this one. */
    static final class Member implements ConsumerRebalanceListener {
        final KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                config("group.id", name, "auto.offset.reset", "earliest", "enable.auto.commit", "false", "heartbeat.interval.ms", "200"));
        final List<String> values = new ArrayList<>();
        int held;

        Member() {
            consumer.subscribe(List.of(name), this);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            held += partitions.size();
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            held -= partitions.size();
        }

        void poll() {
            for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(50))) values.add(each.value());
        }

        List<String> commit() {
            List<String> read = List.copyOf(values);
            values.clear();
            consumer.commitSync();
            return read;
        }
    }

    static void until(BooleanSupplier condition, Member... members) {
        long end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) throw new IllegalStateException("it takes too long");
            for (Member each : members) each.poll();
        }
    }

    static void groups() throws Exception {
        Member first = new Member();
        until(() -> first.held == 2 && first.values.size() >= produced, first);
        first.commit();
        Member second = new Member();
        until(() -> first.held == 1 && second.held == 1, first, second);
        second.consumer.close();
        until(() -> first.held == 2, first);
        first.consumer.close();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(config())) {
            producer.send(new ProducerRecord<>(name, "later")).get();
        }
        Member third = new Member();
        until(() -> third.values.size() >= 1, third);
        result.add("\"shared\":[2,1,1,2],\"resumed\":[\"" + String.join("\",\"", third.commit()) + "\"]");
        third.consumer.close();
    }

    static void transactions() throws Exception {
        TopicPartition read = new TopicPartition(name, 1);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(config("transactional.id", name))) {
            producer.initTransactions();
            for (String value : List.of("committed", "aborted", "last")) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(name, 1, null, value)).get();
                producer.sendOffsetsToTransaction(
                        Map.of(read, new OffsetAndMetadata(7)), new ConsumerGroupMetadata(name + "-offsets"));
                if (value.equals("aborted")) producer.abortTransaction();
                else producer.commitTransaction();
            }
        }
        List<String> values = new ArrayList<>(List.of(""));
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config("isolation.level", "read_committed"))) {
            consumer.assign(List.of(read));
            consumer.seekToBeginning(List.of(read));
            long end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
            while (!values.get(values.size() - 1).equals("last")) {
                if (System.nanoTime() > end) throw new IllegalStateException("it takes too long: " + values);
                for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(50))) values.add(each.value());
            }
        }
        values.removeAll(List.of("", "later"));
        result.add("\"transactions\":[\"" + String.join("\",\"", values) + "\"]");
    }

    static void steady() {
        long end = System.nanoTime() + Duration.ofSeconds(Long.parseLong(System.getenv().getOrDefault("STEADY_S", "60"))).toNanos();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(config());
                KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config("group.id", name))) {
            consumer.subscribe(List.of(name));
            while (System.nanoTime() < end) {
                producer.send(new ProducerRecord<>(name, "a record of some bytes, as programs write them"));
                consumer.poll(Duration.ofMillis(20));
            }
        }
    }
}
