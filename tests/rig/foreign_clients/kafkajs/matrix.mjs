// What kafkajs does with a cluster, for tests. Usage: node matrix.mjs BOOTSTRAP NAME STAGE...
import kafkajs from "kafkajs";
import SnappyCodec from "kafkajs-snappy";

const { Kafka, CompressionTypes, CompressionCodecs, Partitioners, logLevel } = kafkajs;
CompressionCodecs[CompressionTypes.Snappy] = SnappyCodec;

const [bootstrap, name, ...stages] = process.argv.slice(2);
const kafka = new Kafka({ brokers: bootstrap.split(","), logLevel: logLevel.ERROR });
const result = {};
const options = { createPartitioner: Partitioners.DefaultPartitioner };

async function records() {
  const admin = kafka.admin();
  await admin.connect();
  const topics = [{ topic: name, numPartitions: 2, replicationFactor: 1 }];
  // It does not wait for a broker that does not know the topic yet; the producer does.
  result.created = (await admin.createTopics({ topics, waitForLeaders: false })) ? 0 : 1;
  await admin.disconnect();
  const codecs = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy };
  const producer = kafka.producer(options);
  await producer.connect();
  result.produced = 0;
  for (const [text, acks] of [["all", -1], ["1", 1], ["0", 0]]) {
    for (const [codec, compression] of Object.entries(codecs)) {
      const messages = [{ key: "key", value: `${codec} ${text} `.repeat(40), partition: 0 }];
      await producer.send({ topic: name, acks, compression, messages });
      result.produced += 1;
    }
  }
  await producer.disconnect();
}

async function join() {
  const member = { held: 0, values: [], waiting: [] };
  const settle = () => {
    member.waiting = member.waiting.filter(([holds, done]) => (holds() ? done() : true));
  };
  member.until = (holds) => new Promise((done) => {
    member.waiting.push([holds, done]);
    settle();
  });
  const consumer = kafka.consumer({ groupId: name, heartbeatInterval: 200, rebalanceTimeout: 10_000 });
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    member.held = (payload.memberAssignment[name] ?? []).length;
    settle();
  });
  await consumer.connect();
  await consumer.subscribe({ topic: name, fromBeginning: true });
  await consumer.run({
    autoCommitThreshold: 1,
    eachMessage: async ({ message }) => {
      member.values.push(message.value.toString());
      settle();
    },
  });
  member.leave = async () => {
    await consumer.stop();
    await consumer.disconnect();
  };
  return member;
}

async function groups() {
  const first = await join();
  await first.until(() => first.held === 2);
  await first.until(() => first.values.length >= result.produced);
  const second = await join();
  await second.until(() => second.held === 1);
  await first.until(() => first.held === 1);
  await second.leave();
  await first.until(() => first.held === 2);
  await first.leave();
  const producer = kafka.producer(options);
  await producer.connect();
  await producer.send({ topic: name, messages: [{ value: "later" }] });
  await producer.disconnect();
  const third = await join();
  await third.until(() => third.values.length >= 1);
  await third.leave();
  Object.assign(result, { shared: [2, 1, 1, 2], resumed: third.values });
}

async function transactions() {
  const producer = kafka.producer({ ...options, transactionalId: name, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const topics = [{ topic: name, partitions: [{ partition: 1, offset: "7" }] }];
  for (const value of ["committed", "aborted", "last"]) {
    const transaction = await producer.transaction();
    await transaction.send({ topic: name, messages: [{ value, partition: 1 }] });
    await transaction.sendOffsets({ consumerGroupId: `${name}-offsets`, topics });
    await (value === "aborted" ? transaction.abort() : transaction.commit());
  }
  await producer.disconnect();
  result.transactions = await committed();
}

async function committed() {
  const values = [];
  const consumer = kafka.consumer({ groupId: `${name}-readers` });
  await consumer.connect();
  await consumer.subscribe({ topic: name, fromBeginning: true });
  await new Promise((done) => {
    consumer.run({
      eachMessage: async ({ partition, message }) => {
        const value = message.value.toString();
        if (partition === 1 && value !== "later") values.push(value);
        if (value === "last") done();
      },
    });
  });
  await consumer.disconnect();
  return values;
}

async function steady() {
  const end = Date.now() + 1000 * Number(process.env.STEADY_S ?? 60);
  const producer = kafka.producer(options);
  const consumer = kafka.consumer({ groupId: name });
  await Promise.all([producer.connect(), consumer.connect()]);
  await consumer.subscribe({ topic: name });
  await consumer.run({ eachMessage: async () => {} });
  while (Date.now() < end) {
    await producer.send({ topic: name, messages: [{ value: "a record of some bytes" }] });
    await new Promise((done) => setTimeout(done, 20));
  }
  await Promise.all([producer.disconnect(), consumer.disconnect()]);
}

for (const stage of stages) {
  await { records, groups, transactions, steady }[stage]();
}
console.log(JSON.stringify(result));
