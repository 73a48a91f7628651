package xdsd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/xdsforge/xdsforge/serve"
)

// maxPermissions is the limit of the size of the file of permissions in bytes.
const maxPermissions = 16 << 20

// readPermissions reads a list of permissions. A misspelled field is an error.
func readPermissions(path string) (list []serve.Permission, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxPermissions+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxPermissions {
		return nil, fmt.Errorf("the file has more than %d bytes", maxPermissions)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) { // More would accept a closing bracket
		return nil, errors.New("the file must have one list")
	}
	if list == nil {
		return nil, errors.New("null; must be a list of permissions")
	}
	return list, nil
}
