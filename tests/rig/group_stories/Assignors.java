import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/** Judges assignments: reads groups as JSON lines (assignor_judge.py) and prints what Kafka assigns. */
public class Assignors {
    static final ObjectMapper JSON = new ObjectMapper();
    static final int LIMIT_SECONDS = 5;
    static final HexFormat HEX = HexFormat.of();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode shape = JSON.readTree(line);
            Map<String, ConsumerPartitionAssignor> assignors = new HashMap<>();
            ArrayNode results = JSON.createArrayNode();
            for (JsonNode round : shape.get("rounds")) {
                results.add(play(shape.get("assignor").asText(), round, assignors));
                if (results.get(results.size() - 1).has("error")) break;
            }
            out.println(JSON.writeValueAsString(results));
        }
        out.flush();
    }

    /** One rebalance: the leader assigns, every member remembers, and says what it would join with next. */
    static ObjectNode play(String name, JsonNode round, Map<String, ConsumerPartitionAssignor> assignors) {
        Map<String, Subscription> members = new HashMap<>();
        for (JsonNode member : round.get("members")) {
            Subscription subscription = ConsumerProtocol.deserializeSubscription(bytes(member.get(2)));
            subscription.setGroupInstanceId(Optional.ofNullable(member.get(1).asText(null)));
            members.put(member.get(0).asText(), subscription);
            assignors.computeIfAbsent(member.get(0).asText(), id -> assignor(name));
        }
        ObjectNode result = JSON.createObjectNode();
        ConsumerPartitionAssignor leader = assignors.get(round.get("leader").asText());
        Cluster cluster = cluster(round.get("topics"));
        CompletableFuture<Map<String, Assignment>> assigning = CompletableFuture.supplyAsync(
            () -> leader.assign(cluster, new GroupSubscription(members)).groupAssignment(), Assignors::start);
        Map<String, Assignment> assignments;
        try {
            assignments = assigning.get(LIMIT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException error) {
            return result.put("error", error.getCause().toString());
        } catch (InterruptedException | TimeoutException error) {
            return result.put("error", error.toString());
        }
        ObjectNode assigned = result.putObject("assignments");
        ObjectNode joins = result.putObject("joins");
        ConsumerGroupMetadata generation = new ConsumerGroupMetadata("group", round.get("generation").asInt(), "", Optional.empty());
        assignments.forEach((id, assignment) -> {
            assigned.put(id, hex(ConsumerProtocol.serializeAssignment(assignment)));
            ConsumerPartitionAssignor own = assignors.get(id);
            own.onAssignment(assignment, generation);
            Set<String> topics = new HashSet<>(members.get(id).topics());
            joins.put(id, hex(ConsumerProtocol.serializeSubscription(new Subscription(
                new ArrayList<>(topics), own.subscriptionUserData(topics), assignment.partitions(),
                generation.generationId(), members.get(id).rackId()))));
        });
        return result;
    }

    /** Starts a thread that dies with the program: some groups keep the sticky assignor busy for ever. */
    static void start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    static ConsumerPartitionAssignor assignor(String name) {
        return switch (name) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative-sticky" -> new CooperativeStickyAssignor();
            default -> throw new IllegalArgumentException(name);
        };
    }

    static Cluster cluster(JsonNode topics) {
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        topics.fields().forEachRemaining(topic -> {
            int index = 0;
            for (JsonNode racks : topic.getValue()) {
                List<Node> replicas = new ArrayList<>();
                for (JsonNode rack : racks)
                    replicas.add(nodes.computeIfAbsent(rack.asText(), name -> new Node(nodes.size(), "broker", 9092, name)));
                if (replicas.isEmpty()) replicas.add(nodes.computeIfAbsent("", name -> new Node(nodes.size(), "broker", 9092)));
                Node[] all = replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(topic.getKey(), index++, all[0], all, all));
            }
        });
        return new Cluster("cluster", nodes.values(), partitions, Set.of(), Set.of());
    }

    static ByteBuffer bytes(JsonNode hex) {
        return ByteBuffer.wrap(HEX.parseHex(hex.asText()));
    }

    static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HEX.formatHex(bytes);
    }
}
