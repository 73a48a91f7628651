// A client of the chaos of package httpxds: Node's keep-alive agent, or its fetch. It prints the numbers of requests and of those
// that are lost.
const http = require('node:http')

const [mode, address, requests, parallel, resets] = process.argv.slice(2)
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(parallel) })

const kind = (n) => {
  if (resets === 'true' && n % 50 === 0) return ['/reset', 502, 10]
  if (n % 5 === 0) return ['/early', 401, 1 + ((n * 7919) % 20000)]
  if (n % 7 === 0) return ['/close', 200, 10]
  return ['/echo', 200, 1 + ((n * 7919) % 20000)]
}

const byAgent = (path, body) =>
  new Promise((resolve, reject) => {
    const request = http.request(`http://${address}${path}`, { method: 'POST', agent }, (response) => {
      let size = 0
      response.on('data', (part) => (size += part.length))
      response.on('end', () => resolve([response.statusCode, size]))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })

const byFetch = async (path, body) => {
  const response = await fetch(`http://${address}${path}`, { method: 'POST', body })
  return [response.status, (await response.arrayBuffer()).byteLength]
}

const send = mode === 'fetch' ? byFetch : byAgent
const result = { Sent: 0, Lost: 0, Why: {} }
let next = 0

const worker = async () => {
  while (next < Number(requests)) {
    const [path, want, size] = kind(++next)
    let why = ''
    try {
      const [status, got] = await send(path, 'x'.repeat(size))
      if (status !== want) why = `${path}: status ${status}`
      else if (want === 200 && got !== path.length + 1 + size) why = `${path}: ${got} bytes`
    } catch (error) {
      why = `${path}: ${error.code || (error.cause && (error.cause.code || error.cause.message)) || error.message}`
    }
    result.Sent++
    if (why) {
      result.Lost++
      result.Why[why] = (result.Why[why] || 0) + 1
    }
  }
}

Promise.all(Array.from({ length: Number(parallel) }, worker)).then(() => {
  console.log(JSON.stringify(result))
  process.exit(0)
})
