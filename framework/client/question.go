package client

import (
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// A question asks the loop which resources of a response are watched: only those are
// decoded. The loop owns the watches, and they change while a response is decoded. So each
// answer has a generation. If it is out of date when the response reaches the loop, the
// loop sends the reader back to the remaining resources.
type question struct {
	stream *stream
	typ    *resource.Descriptor
	names  []asked
	// response is the number of the response; 0 before the first answer.
	response uint64
	// generation is that of the watches of the type when the loop answered.
	generation uint64
}

// An asked is a resource in a question.
type asked struct {
	says   authority.Result // without the result of decoding
	number uint32           // in the response, from 0
	body   []byte           // nil: there is nothing to decode
	plain  bool             // its name is the one in its message
	want   authority.Want   // the answer
}

// askedAtOnce is the limit of resources in a question. It limits the number of unwatched resources
// held in memory.
const askedAtOnce = 1 << 10

func (q *question) add(a asked) { q.names = append(q.names, a) }

// question returns an empty question, which replaces the last one.
func (w *scratch) question(t *resource.Descriptor) *question {
	clear(w.asks.names)
	w.asks = question{typ: t, names: w.asks.names[:0], response: w.asks.response}
	return &w.asks
}

// ask waits for the loop's answer, and reports whether it came. If not, the stream is over, and the
// caller must not use the scratch any more.
func (s *stream) ask(q *question) bool {
	if len(q.names) == 0 {
		return true
	}
	q.stream = s
	s.loop.post(q.answer)
	select {
	case <-s.replied:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// answer answers the question. Loop only.
func (q *question) answer() {
	ch, l := q.stream.channel, q.stream.loop
	q.generation = ch.generation(q.typ)
	if q.response == 0 {
		l.asked++
		q.response = l.asked
	}
	for i := range q.names {
		a := &q.names[i]
		if scope := l.client.find(a.says.Name); scope != nil {
			a.want = scope.machine.Wants(q.typ, a.says.Name, a.says.Aliases, q.response)
		}
	}
	q.stream.replied <- struct{}{}
}

// generation returns a number that grows with every watch of the type that a response of the
// channel might concern.
func (ch *channel) generation(t *resource.Descriptor) (sum uint64) {
	for _, u := range ch.users {
		sum += u.machine.Generation(t)
	}
	return sum
}
