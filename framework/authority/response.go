package authority

import (
	"errors"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
)

var (
	errNoAnswer = errors.New("the control plane did not send it in time after it was asked for")
	errAbsent   = errors.New("it is missing from a response that names every resource")
)

// response applies what a response said. Resources that nobody watches are
// passed over (gRFC A27); the valid ones of a rejected response are used (gRFC
// A46).
func (m *Machine) response(ev Response) {
	i := m.config.Types.Index(ev.Type)
	records, shard := m.records[i], m.shards[i]
	m.responses++
	if m.responses == 0 {
		m.responses++ // 0 is for records that no response has mentioned
	}
	for _, res := range ev.Results {
		r, ok := records[res.Name.String()]
		if !ok {
			continue
		}
		r.seen = m.responses
		if res.Err != nil {
			m.reject(r, shard, res.Err)
		} else {
			m.accept(r, shard, res.Update)
		}
	}
	if ev.Type.Complete && !ev.Unnamed {
		for _, r := range records {
			if r.seen != m.responses && r.seen != 0 {
				m.remove(r, shard)
			}
		}
	}
}

// accept takes a valid resource into use. One that is in use already is told
// only if that clears an error.
func (m *Machine) accept(r *record, shard resource.Shard, u resource.Update) {
	r.timer = 0
	news := r.update != u || r.err != nil
	r.state, r.err = Acked, nil
	if r.update != u {
		r.update = u
		shard.Store(u)
	}
	if news {
		m.tell(r)
	}
}

func (m *Machine) reject(r *record, shard resource.Shard, cause error) {
	m.dataError(r, shard, Nacked, m.fault(r, resource.ErrInvalid, cause))
}

// remove notes that a resource that was received before is gone.
func (m *Machine) remove(r *record, shard resource.Shard) {
	m.dataError(r, shard, DoesNotExist, m.fault(r, resource.ErrRemoved, errAbsent))
}

// dataError sets the error of a resource. What is cached stays in use, unless
// the server is known not to alert people of such errors (gRFC A88).
func (m *Machine) dataError(r *record, shard resource.Shard, state State, err error) {
	r.timer = 0
	dropped := false
	if r.update != nil && m.config.Server.HasFeature(bootstrap.FeatureFailOnDataErrors) {
		shard.Delete(r.name)
		r.update, dropped = nil, true
	}
	known := r.state == state && r.err != nil && r.err.Error() == err.Error()
	r.state, r.err = state, err
	if dropped || !known {
		m.tell(r)
	}
}
