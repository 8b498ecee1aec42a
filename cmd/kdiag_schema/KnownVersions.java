import java.lang.reflect.Method;

/**
 * Prints the APIs that the Kafka clients on the class path know, a line each: key, name, oldest and
 * newest version. `ApiKeys` itself is asked: since Kafka 0.11 it says it, before that `Protocol` does.
 */
public class KnownVersions {
    public static void main(String[] arguments) throws ReflectiveOperationException {
        for (Object api : Class.forName("org.apache.kafka.common.protocol.ApiKeys").getEnumConstants()) {
            int key = ((Number) api.getClass().getField("id").get(api)).intValue();
            int[] range = range(api, key);
            System.out.println(key + " " + ((Enum<?>) api).name() + " " + range[0] + " " + range[1]);
        }
    }

    private static int[] range(Object api, int key) throws ReflectiveOperationException {
        try {
            int oldest = ((Number) api.getClass().getMethod("oldestVersion").invoke(api)).intValue();
            return new int[] {oldest, newest(api)};
        } catch (NoSuchMethodException before011) {
            Class<?> protocol = Class.forName("org.apache.kafka.common.protocol.Protocol");
            Object[] requests = ((Object[][]) protocol.getField("REQUESTS").get(null))[key];
            int oldest = 0;
            while (oldest < requests.length && requests[oldest] == null) {
                oldest++;
            }
            return new int[] {oldest, requests.length - 1};
        }
    }

    /** Since 3.5 there are versions that may still change: clients do not speak them. */
    private static int newest(Object api) throws ReflectiveOperationException {
        try {
            Method method = api.getClass().getMethod("latestVersion", boolean.class);
            return ((Number) method.invoke(api, false)).intValue();
        } catch (NoSuchMethodException before35) {
            return ((Number) api.getClass().getMethod("latestVersion").invoke(api)).intValue();
        }
    }
}
