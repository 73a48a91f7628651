// Package tlsfiles reads certificates, keys and roots from files, and again when the files have changed.
package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Files are paths of files in PEM.
type Files struct {
	Certificate, Key string // both or none
	CA               string // "": none
}

// A Material is the content of the files.
type Material struct {
	Certificates []tls.Certificate
	CA           *x509.CertPool // nil: none
}

// maxFile is the limit of a file in bytes.
const maxFile = 16 << 20

// A Reader has the newest valid content of files. [Open] returns one. It is safe for concurrent use.
type Reader struct {
	files  Files
	failed func(error)

	mu      sync.Mutex
	stamps  [3]stamp
	current *Material
}

// A stamp identifies a version of a file.
type stamp struct {
	changed time.Time
	size    int64
}

// Open reads the files. Later, failed is called when changed files are not valid; the reader keeps the last valid
// content then.
func Open(f Files, failed func(error)) (*Reader, error) {
	if (f.Certificate == "") != (f.Key == "") {
		return nil, errors.New("certificate and key; must be set together")
	}
	r := &Reader{files: f, failed: failed}
	r.stamps = r.look()
	var err error
	r.current, err = f.read()
	return r, err
}

// Current returns the content of the files. It reads them again if they have changed.
func (r *Reader) Current() *Material {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.look()
	if now == r.stamps {
		return r.current
	}
	r.stamps = now
	m, err := r.files.read()
	if err != nil {
		r.failed(err) // certificate and key may be replaced one after the other
		return r.current
	}
	r.current = m
	return m
}

// look returns the stamps of the files. A file that cannot be read has none.
func (r *Reader) look() (list [3]stamp) {
	for i, path := range []string{r.files.Certificate, r.files.Key, r.files.CA} {
		if path == "" {
			continue
		}
		if info, err := os.Stat(path); err == nil {
			list[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return list
}

func (f *Files) read() (*Material, error) {
	m := new(Material)
	if f.Certificate != "" {
		certificate, err := readFile(f.Certificate)
		if err != nil {
			return nil, err
		}
		key, err := readFile(f.Key)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("%s and %s; must be a certificate and its key: %w", f.Certificate, f.Key, err)
		}
		m.Certificates = []tls.Certificate{pair}
	}
	if f.CA != "" {
		roots, err := readFile(f.CA)
		if err != nil {
			return nil, err
		}
		m.CA = x509.NewCertPool()
		if !m.CA.AppendCertsFromPEM(roots) {
			return nil, fmt.Errorf("%s; must have certificates in PEM", f.CA)
		}
	}
	return m, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s has %d bytes; must not have more than %d", path, info.Size(), maxFile)
	}
	return os.ReadFile(path)
}
