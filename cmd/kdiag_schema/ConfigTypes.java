import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.Enumeration;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.kafka.common.config.ConfigDef;

/**
 * Prints every setting that a `ConfigDef` in the given jars defines, a line each: type, name.
 *
 * A class keeps its definitions in a static field, or returns them from a static method without
 * parameters. Only such classes are initialized: to load others may start anything. A name that
 * one class calls a password is a password, whatever it is elsewhere.
 */
public class ConfigTypes {
    private static final Map<String, ConfigDef.Type> TYPES = new TreeMap<>();

    public static void main(String[] jars) throws Exception {
        for (String jar : jars) {
            try (JarFile file = new JarFile(Path.of(jar).toFile())) {
                for (Enumeration<JarEntry> all = file.entries(); all.hasMoreElements(); ) {
                    String name = all.nextElement().getName();
                    if (name.endsWith(".class") && !name.startsWith("META-INF/")) {
                        read(name.substring(0, name.length() - 6).replace('/', '.'));
                    }
                }
            }
        }
        TYPES.forEach((name, type) -> System.out.println(type + " " + name));
    }

    private static void read(String className) {
        try {
            Class<?> owner = Class.forName(className, false, ConfigTypes.class.getClassLoader());
            for (Field field : owner.getDeclaredFields()) {
                if (isDefinition(field, field, field.getType())) {
                    add((ConfigDef) field.get(null));
                }
            }
            for (Method method : owner.getDeclaredMethods()) {
                if (method.getParameterCount() == 0 && isDefinition(method, method, method.getReturnType())) {
                    add((ConfigDef) method.invoke(null));
                }
            }
        } catch (ReflectiveOperationException | LinkageError lacking) {
            // It needs a library that Kafka's server runs without: it holds no settings of the server's.
            System.err.println(className + ": " + lacking);
        }
    }

    private static boolean isDefinition(Member member, AccessibleObject access, Class<?> type) {
        boolean is = Modifier.isStatic(member.getModifiers()) && ConfigDef.class.isAssignableFrom(type);
        return is && access.trySetAccessible();
    }

    private static void add(ConfigDef definitions) {
        if (definitions != null) {
            definitions.configKeys().forEach((name, key) -> TYPES.merge(name, key.type,
                (one, other) -> one == ConfigDef.Type.PASSWORD ? one : other));
        }
    }
}
