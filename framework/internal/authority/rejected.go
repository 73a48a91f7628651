package authority

import "slices"

// The limits of the rejected messages that a machine keeps for operators, in bytes.
const (
	maxMessage  = 64 << 10 // of one resource
	maxMessages = 1 << 20  // of all resources
)

// keepMessage replaces the rejected message of a record. It keeps a copy if the limits allow that. Nil
// drops the message.
func (m *Machine) keepMessage(r *record, message []byte) {
	if r.extras == nil {
		return
	}
	x := r.extras
	m.messages -= len(x.message)
	x.message = nil
	if len(message) == 0 || len(message) > maxMessage || m.messages+len(message) > maxMessages {
		return
	}
	x.message = slices.Clone(message)
	m.messages += len(message)
}
