// A channel of grpc-js with its xDS. For each line of the input, it makes a call, and prints "ok" and
// the name of the backend, or "error" and the reason.
'use strict';
const readline = require('readline');
const grpc = require('@grpc/grpc-js');
require('@grpc/grpc-js-xds').register();

const client = new grpc.Client(process.argv[2], grpc.credentials.createInsecure());
const lines = readline.createInterface({input: process.stdin});
lines.on('line', () => {
  client.makeUnaryRequest('/xdsforge.Peer/Who', (b) => b, (b) => b, Buffer.alloc(0),
    {deadline: Date.now() + 20000}, (error, reply) => {
      if (error) {
        console.log('error ' + error.message.replace(/\s+/g, ' '));
      } else {
        console.log('ok ' + reply.subarray(2).toString()); // a StringValue of one byte of length
      }
    });
});
lines.on('close', () => process.exit(0));
