import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;

/**
 * Members of groups of all kinds that Java's clients know, in one process. Usage: HOST:PORT, then lines on stdin:
 *
 *   join KIND GROUP NAME TOPICS      KIND is classic, consumer or share; TOPICS have commas between them
 *   subscribe GROUP NAME TOPICS
 *   leave GROUP NAME
 *
 * The end of stdin ends it without a word to anybody.
 */
public class JavaMembers {
    public static void main(String[] args) throws Exception {
        Map<String, Member> members = new HashMap<>();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("join")) {
                Member member = new Member(args[0], words[1], words[2], words[3]);
                members.put(words[2] + " " + words[3], member);
                member.topics.add(topics(words[4]));
                member.start();
            } else {
                members.get(words[1] + " " + words[2]).topics.add(words[0].equals("leave") ? List.of() : topics(words[3]));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    static List<String> topics(String text) {
        return List.of(text.split(","));
    }

    /** Polls, and does what it is told: no topics mean to leave. */
    static class Member extends Thread {
        final ConcurrentLinkedQueue<List<String>> topics = new ConcurrentLinkedQueue<>();
        private final Properties config = new Properties();
        private final boolean isShare;

        Member(String bootstrap, String kind, String group, String name) {
            setDaemon(true);
            isShare = kind.equals("share");
            String text = "org.apache.kafka.common.serialization.StringDeserializer";
            String[] pairs = {"bootstrap.servers", bootstrap, "group.id", group, "client.id", name,
                "metadata.max.age.ms", "700", "key.deserializer", text, "value.deserializer", text};
            for (int i = 0; i < pairs.length; i += 2) config.put(pairs[i], pairs[i + 1]);
            if (!isShare) config.put("group.protocol", kind);
            if (kind.equals("classic")) {
                config.put("session.timeout.ms", "4000");
                config.put("heartbeat.interval.ms", "300");
            }
        }

        @Override
        public void run() {
            if (isShare) share(); else consume();
        }

        private void consume() {
            try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config)) {
                while (true) {
                    List<String> wanted = topics.poll();
                    if (wanted != null && wanted.isEmpty()) return;
                    if (wanted != null) consumer.subscribe(wanted);
                    consumer.poll(Duration.ofMillis(50));
                }
            }
        }

        private void share() {
            try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(config)) {
                while (true) {
                    List<String> wanted = topics.poll();
                    if (wanted != null && wanted.isEmpty()) return;
                    if (wanted != null) consumer.subscribe(wanted);
                    consumer.poll(Duration.ofMillis(50));
                }
            }
        }
    }
}
