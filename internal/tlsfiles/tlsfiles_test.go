package tlsfiles_test

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/internal/testca"
	"github.com/xdsforge/xdsforge/internal/tlsfiles"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serial returns the serial number of the certificate of a reader.
func serial(t *testing.T, m *tlsfiles.Material) string {
	t.Helper()
	c, err := x509.ParseCertificate(m.Certificates[0].Certificate[0])
	check(t, err)
	return c.SerialNumber.String()
}

// A reader has the newest valid content.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	ca, err := testca.New("one")
	check(t, err)
	rotate := func() {
		t.Helper()
		pair, err := ca.Issue(x509.Certificate{DNSNames: []string{"xds"}})
		check(t, err)
		check(t, testca.WritePair(dir, pair))
	}
	rotate()
	files := tlsfiles.Files{Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "ca.pem")}
	check(t, testca.Write(files.CA, ca.PEM()))
	var failures []error
	r, err := tlsfiles.Open(files, func(err error) { failures = append(failures, err) })
	check(t, err)
	first := r.Current()
	if again := r.Current(); again != first {
		t.Error("files that did not change were read again")
	}
	rotate()
	later := time.Now().Add(time.Minute)
	check(t, os.Chtimes(files.Certificate, later, later))
	second := r.Current()
	if serial(t, second) == serial(t, first) {
		t.Error("the reader has the old certificate after the files changed")
	}
	other, err := testca.New("two")
	check(t, err)
	check(t, testca.Write(files.CA, append(ca.PEM(), other.PEM()...)))
	if m := r.Current(); m.CA.Equal(second.CA) {
		t.Error("the reader has the old roots after the file changed")
	}
	check(t, testca.Write(files.Key, []byte("broken")))
	if m := r.Current(); serial(t, m) != serial(t, second) || len(failures) != 1 {
		t.Errorf("after %q, the reader has another certificate than the last valid one, or was not told once", failures)
	}
	r.Current()
	if len(failures) != 1 {
		t.Errorf("a broken file is reported %d times, want once", len(failures))
	}
}

// Files that are not valid at the start are an error.
func TestInvalidFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.pem")
	check(t, os.WriteFile(file, []byte("x"), 0o600))
	for _, f := range []tlsfiles.Files{{Certificate: file}, {Certificate: file, Key: file}, {CA: file}, {CA: file + ".absent"}} {
		if _, err := tlsfiles.Open(f, nil); err == nil {
			t.Errorf("files %+v are accepted", f)
		}
	}
}
