// Package descriptorsum identifies the descriptor that code was generated from. Generated tests have
// the sum, so that they fail after a change of the descriptor.
package descriptorsum

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Of returns the sum of a descriptor and of the contract between the generator and the framework.
// Line ends do not matter, because version control may change them.
func Of(contract int, descriptor []byte) string {
	h := sha256.New()
	h.Write([]byte(strconv.Itoa(contract) + "\n"))
	h.Write(bytes.ReplaceAll(descriptor, []byte("\r\n"), []byte("\n")))
	return hex.EncodeToString(h.Sum(nil)[:8])
}
