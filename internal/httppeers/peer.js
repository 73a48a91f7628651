// A peer of package httpxds: servers and clients of Node's own http and http2. Clients send requests until they are
// interrupted. They print the number of responses now and then, and exit with 1 if a request fails.
const http = require('node:http')
const http2 = require('node:http2')

const [mode, address] = process.argv.slice(2)

const handle = (request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => response.end(Buffer.concat(parts)))
}

const servers = {
  server1: () => http.createServer(handle),
  server2: () => http2.createServer(handle),
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 4 })

const send1 = (body) =>
  new Promise((resolve, reject) => {
    const request = http.request(`http://${address}/p`, { method: 'POST', agent }, (response) => {
      let text = ''
      response.on('data', (part) => (text += part))
      response.on('end', () => resolve([response.statusCode, text]))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })

let session
const connected = () => {
  if (!session || session.closed || session.destroyed) {
    session = http2.connect(`http://${address}`)
    const current = session
    session.on('goaway', () => {
      if (session === current) session = undefined
    })
    session.on('error', () => {})
  }
  return session
}

const attempt2 = (body) =>
  new Promise((resolve, reject) => {
    const stream = connected().request({ ':path': '/p', ':method': 'POST' })
    let status
    let text = ''
    stream.on('response', (headers) => (status = headers[':status']))
    stream.on('data', (part) => (text += part))
    stream.on('end', () => resolve([status, text]))
    stream.on('error', reject)
    stream.end(body)
  })

// RFC 9113 lets a client repeat the requests that a GOAWAY does not admit: Node fails them with REFUSED_STREAM.
const send2 = async (body) => {
  for (;;) {
    try {
      return await attempt2(body)
    } catch (error) {
      if (!/REFUSED_STREAM|GOAWAY/.test(`${error.code} ${error.message}`)) throw error
    }
  }
}

const load = async (send) => {
  let running = true
  let count = 0
  process.on('SIGINT', () => (running = false))
  const worker = async () => {
    while (running) {
      const [status, text] = await send('hello')
      if (status !== 200 || text !== '/p hello') throw new Error(`status ${status}: ${text}`)
      if (count++ % 100 === 0) console.log(`${count} requests`)
    }
  }
  await Promise.all([worker(), worker(), worker(), worker()])
  console.log(`${count} requests`)
  agent.destroy()
  if (session) session.close()
}

if (servers[mode]) {
  const server = servers[mode]().listen(0, '127.0.0.1', () => console.log(server.address().port))
} else {
  load(mode === 'client1' ? send1 : send2).catch((error) => {
    console.log(`a request is lost: ${error.code} ${error.message}`)
    process.exit(1)
  })
}
