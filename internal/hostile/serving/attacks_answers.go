package main

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// answerAttacks are attacks by ACKs and NACKs.
func answerAttacks() []attack {
	return []attack{
		nacks("NACKs: 9,000 texts, delta", delta, func(i int) []byte { return wire.Text(2, fmt.Sprintf("text %d", i)) }),
		nacks("NACKs: 9,000 texts, whole", whole, func(i int) []byte { return wire.Text(2, fmt.Sprintf("text %d", i)) }),
		nacks("NACKs: 9,000 texts with control characters", delta, func(i int) []byte {
			return wire.Text(2, strings.Repeat("\x1b[31m\n", 100)+fmt.Sprint(i))
		}),
		answerOnce("NACK: a text of 4 MiB", func() []byte { return wire.Text(2, text()) }),
		answerOnce("NACK: 4 MiB of details", func() []byte {
			return wire.Fill(wire.Usual-1<<10, func(int) []byte { return wire.Field(3, wire.Text(1, "t")) })
		}),
		sends("ACKs: 9,000 of responses that were not sent", scene{clusters: 10}, request, "", delta, func() (list [][]byte) {
			for i := range 9000 {
				list = append(list, join(wire.Text(deltaURL, clusterURL), wire.Text(deltaAdd, "a"), wire.Text(deltaNonce, fmt.Sprint(i))))
			}
			return list
		}),
		{name: "requests: more than 1,000 a second", scene: scene{clusters: 10}, budget: request, ends: "Limits.Requests", run: func(a *attacker) error {
			m := join(wire.Text(deltaURL, clusterURL), wire.Text(deltaAdd, "a"))
			a.begin()
			c, err := a.open(delta)
			if err != nil {
				return err
			}
			c.read()
			for range 50_000 {
				if !c.send(m) {
					break
				}
			}
			return c.settle(settling)
		}},
		sends("requests: 100 MiB at once", scene{clusters: 10}, stream, "Limits.Bytes", delta, func() [][]byte {
			return turns(25, join(wire.Text(deltaURL, clusterURL), full(deltaRemove, 100, 0)))
		}),
	}
}

// answered are the URL, the nonce and the error of a request.
func answered(method, nonce string, detail []byte) []byte {
	if method == delta {
		return join(wire.Text(deltaURL, clusterURL), wire.Text(deltaNonce, nonce), wire.Field(deltaError, detail))
	}
	return join(wire.Text(wholeURL, clusterURL), wire.Text(wholeNames, "a"), wire.Text(wholeNonce, nonce), wire.Field(wholeError, detail))
}

// nacks returns an attack that rejects a response 9,000 times, each time with another error.
func nacks(name, method string, detail func(i int) []byte) attack {
	return attack{name: name, scene: scene{clusters: 10}, budget: request, run: func(a *attacker) error {
		a.begin()
		c, nonce, err := a.subscribed(method)
		if err != nil {
			return err
		}
		c.read()
		for i := range 9000 {
			c.send(answered(method, nonce, detail(i)))
		}
		return c.settle(settling)
	}}
}

// answerOnce returns an attack that rejects a response once.
func answerOnce(name string, detail func() []byte) attack {
	return attack{name: name, scene: scene{clusters: 10}, budget: 2 * request, run: func(a *attacker) error {
		d := detail()
		a.begin()
		c, nonce, err := a.subscribed(delta)
		if err != nil {
			return err
		}
		c.send(answered(delta, nonce, d))
		return c.settle(settling)
	}}
}

// subscribed returns a stream that has received a response, with its nonce.
func (a *attacker) subscribed(method string) (c *call, nonce string, err error) {
	if c, err = a.open(method); err != nil {
		return nil, "", err
	}
	first := join(wire.Text(deltaURL, clusterURL), wire.Text(deltaAdd, "a"))
	if method == whole {
		first = join(wire.Text(wholeURL, clusterURL), wire.Text(wholeNames, "a"))
	}
	c.send(first)
	b, err := c.response()
	if err != nil {
		return nil, "", err
	}
	const nonceField = 5 // of both responses
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, "", protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, typ, b[n:])
		if size < 0 {
			return nil, "", protowire.ParseError(size)
		}
		if number == nonceField {
			v, _ := protowire.ConsumeBytes(b[n:])
			nonce = string(v)
		}
		b = b[n+size:]
	}
	return c, nonce, nil
}
