// A peer of package httpxds: connect-es as a server and as a client, with the service of peer.Service. The methods use
// google.protobuf.StringValue, so that no code is generated.
import http from 'node:http'
import http2 from 'node:http2'
import { create, createFileRegistry } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema, StringValueSchema, file_google_protobuf_wrappers } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { connectNodeAdapter, createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'

const text = '.google.protobuf.StringValue'
const file = create(FileDescriptorProtoSchema, {
  name: 'peer.proto',
  package: 'peer',
  syntax: 'proto3',
  dependency: ['google/protobuf/wrappers.proto'],
  service: [
    {
      name: 'Service',
      method: [
        { name: 'Unary', inputType: text, outputType: text, options: { idempotencyLevel: 1 } }, // NO_SIDE_EFFECTS
        { name: 'Server', inputType: text, outputType: text, serverStreaming: true },
        { name: 'Client', inputType: text, outputType: text, clientStreaming: true },
        { name: 'Bidi', inputType: text, outputType: text, clientStreaming: true, serverStreaming: true },
      ],
    },
  ],
})
const registry = createFileRegistry(file, () => file_google_protobuf_wrappers.proto)
const service = registry.getService('peer.Service')
const message = (value) => create(StringValueSchema, { value })

// until waits for the end of a call.
const until = (signal) => new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', resolve)))

const unary = async (request, context) => {
  switch (request.value) {
    case 'fail':
      throw new ConnectError('no such thing', Code.NotFound, { 'x-reason': 'test' }, [{ desc: StringValueSchema, value: { value: 'detail' } }])
    case 'wait':
      await until(context.signal)
      throw new ConnectError('the time has passed', Code.DeadlineExceeded)
  }
  context.responseHeader.set('x-header', 'head')
  context.responseTrailer.set('x-trailer', 'tail')
  return message(`${context.requestMethod} ${request.value}`)
}

const routes = (router) =>
  router.service(service, {
    unary,
    async *server(request) {
      for (let i = 0; i < 3; i++) yield message(`${request.value} ${i}`)
    },
    async client(requests) {
      const parts = []
      for await (const request of requests) parts.push(request.value)
      return message(parts.join(','))
    },
    async *bidi(requests) {
      for await (const request of requests) yield message(`${request.value}!`)
    },
  })

const serve = (version) => {
  const handler = connectNodeAdapter({ routes })
  const server = version === '2' ? http2.createServer(handler) : http.createServer(handler)
  server.listen(0, '127.0.0.1', () => console.log(server.address().port))
}

const check = (what, got, want) => {
  if (got !== want) throw new Error(`${what}: ${got}; want ${want}`)
}

// failure returns the error of a call.
const failure = async (call) => {
  try {
    await call
  } catch (error) {
    return ConnectError.from(error)
  }
  throw new Error('the call has no error')
}

const calls = async (protocol, httpVersion, address) => {
  const create = { connect: createConnectTransport, grpc: createGrpcTransport, grpcweb: createGrpcWebTransport }[protocol]
  const options = { baseUrl: `http://${address}`, httpVersion }
  const client = createClient(service, create(options))
  let count = 0
  let header
  let trailer
  const response = await client.unary(message('hello'), { onHeader: (h) => (header = h.get('x-header')), onTrailer: (t) => (trailer = t.get('x-trailer')) })
  check('unary', response.value, 'POST hello')
  check('header', header, 'head')
  check('trailer', trailer, 'tail')
  count++
  if (protocol === 'connect') {
    const getter = createClient(service, create({ ...options, useHttpGet: true }))
    check('GET', (await getter.unary(message('hello'))).value, 'GET hello')
    count++
  }
  const failed = await failure(client.unary(message('fail')))
  check('code', failed.code, Code.NotFound)
  check('error', failed.rawMessage, 'no such thing')
  check('metadata', failed.metadata.get('x-reason'), 'test')
  check('detail', failed.findDetails(StringValueSchema).map((d) => d.value).join(), 'detail')
  count++
  const late = await failure(client.unary(message('wait'), { timeoutMs: 200 }))
  check('deadline', late.code, Code.DeadlineExceeded)
  count++
  const received = []
  for await (const m of client.server(message('x'))) received.push(m.value)
  check('server stream', received.join(), 'x 0,x 1,x 2')
  count++
  async function* three() {
    for (const value of ['a', 'b', 'c']) yield message(value)
  }
  check('client stream', (await client.client(three())).value, 'a,b,c')
  count++
  if (httpVersion === '2') {
    // Each message but the first is sent after the response to the one before.
    const answers = []
    let answered
    async function* turns() {
      for (const value of ['a', 'b', 'c']) {
        const next = new Promise((resolve) => (answered = resolve))
        yield message(value)
        await next
      }
    }
    for await (const m of client.bidi(turns())) {
      answers.push(m.value)
      answered()
    }
    check('bidi stream', answers.join(), 'a!,b!,c!')
    count++
  }
  return count
}

const [mode, ...args] = process.argv.slice(2)
if (mode === 'serve') {
  serve(args[0])
} else {
  calls(...args).then(
    (count) => {
      console.log(`ok ${count}`)
      process.exit(0)
    },
    (error) => {
      console.log(`${error.stack}`)
      process.exit(1)
    },
  )
}
