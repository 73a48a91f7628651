package adsserver

import "time"

// rounds pace the responses that changes cause, for Config.Coalesce. The zero value has had no round.
type rounds struct {
	late  []*Stream // wait for the next round
	last  time.Time // time of the last round
	timer *time.Timer
	armed bool
}

func (r *rounds) stop() {
	if r.timer != nil {
		r.timer.Stop()
	}
	r.late = nil
}

// pace wakes the streams that a change touched, or has them wait for the next round. A stream that waits
// combines all changes until then in its responses.
func (c *Core) pace() {
	r := &c.rounds
	if c.config.Coalesce <= 0 {
		c.wake()
		return
	}
	now := time.Now()
	wait := r.last.Add(c.config.Coalesce).Sub(now)
	if wait <= 0 && !r.armed {
		if len(c.touched) > 0 {
			r.last = now
		}
		c.wake()
		return
	}
	for i, st := range c.touched {
		c.touched[i] = nil
		st.touched = false
		if !st.late {
			st.late = true
			r.late = append(r.late, st)
		}
	}
	c.touched = c.touched[:0]
	c.now = 0
	if len(r.late) == 0 || r.armed {
		return
	}
	r.armed = true
	if r.timer == nil {
		r.timer = time.AfterFunc(wait, c.round)
	} else {
		r.timer.Reset(wait)
	}
}

// round wakes all streams that wait for it.
func (c *Core) round() {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.rounds
	r.armed, r.last = false, time.Now()
	for i, st := range r.late {
		r.late[i] = nil
		st.late = false
		st.touch()
	}
	r.late = r.late[:0]
	c.wake()
}
