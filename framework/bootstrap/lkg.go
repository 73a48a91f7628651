package bootstrap

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"time"
)

// LastKnownGood sets up the last known good store: the resources that were in use, for a time without a
// reachable control plane. It is not part of gRPC's format. Other implementations ignore it (gRFC A27).
type LastKnownGood struct {
	// Dir is the absolute path of the directory. Required. Each node needs a directory of its own.
	Dir string
	// KeyFile is the absolute path of a file with the key that encrypts the store. Without it, the
	// store keeps no resources with secrets.
	KeyFile string
	// MaxAge is the time for which a resource may be used after a server last confirmed it. The default
	// is 24 h.
	MaxAge time.Duration
	// Keep is the number of generations of each authority, at most 100. The default is 3.
	Keep int
	// MaxBytes is the limit of the size of a generation. The default is 256 MiB.
	MaxBytes int64
}

// Paths of the fields in errors.
const (
	ownPath = "xdsforge"
	lkgPath = ownPath + ".last_known_good"
)

// maxKeep is the limit of generations.
const maxKeep = 100

func decodeLastKnownGood(o object) *LastKnownGood {
	own, ok := o.field("xdsforge")
	if !ok {
		return nil
	}
	v, ok := own.object().field("last_known_good")
	if !ok {
		return nil
	}
	o = v.object()
	return &LastKnownGood{
		Dir: o.stringValue("dir"), KeyFile: o.stringValue("key_file"), MaxAge: decodeDuration(o, "max_age"),
		Keep: int(decodeInteger(o, "keep", maxKeep)), MaxBytes: decodeInteger(o, "max_bytes", 1<<62),
	}
}

// decodeDuration returns the named field, a duration above zero, or 0.
func decodeDuration(o object, name string) time.Duration {
	s := o.stringValue(name)
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		o.p.add(fieldPath(o.path, name), text(s), `must be a duration above zero, such as "24h"`)
	}
	return d
}

// decodeInteger returns the named field, a whole number from 1 to most, or 0.
func decodeInteger(o object, name string, most int64) int64 {
	v, ok := o.field(name)
	if !ok {
		return 0
	}
	var number json.Number
	v.decode("a number", &number)
	if number == "" {
		return 0
	}
	n, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil || n < 1 || n > most {
		o.p.add(v.path, text(number.String()), "must be a whole number from 1 to "+strconv.FormatInt(most, 10))
	}
	return n
}

// buildLastKnownGood checks and copies the settings.
func buildLastKnownGood(p *problems, spec *LastKnownGood) *LastKnownGood {
	if spec == nil {
		return nil
	}
	if !filepath.IsAbs(spec.Dir) {
		p.add(lkgPath+".dir", text(spec.Dir), "must be the absolute path of a directory")
	}
	if spec.KeyFile != "" && !filepath.IsAbs(spec.KeyFile) {
		p.add(lkgPath+".key_file", text(spec.KeyFile), "must be the absolute path of a file")
	}
	if spec.MaxAge < 0 {
		p.add(lkgPath+".max_age", spec.MaxAge.String(), "must not be negative")
	}
	if spec.Keep < 0 || spec.Keep > maxKeep {
		p.add(lkgPath+".keep", strconv.Itoa(spec.Keep), "must be from 1 to "+strconv.Itoa(maxKeep)+", or 0 for the default")
	}
	if spec.MaxBytes < 0 {
		p.add(lkgPath+".max_bytes", strconv.FormatInt(spec.MaxBytes, 10), "must not be negative")
	}
	c := *spec
	return &c
}

// A lkgFile is a LastKnownGood as the file has it.
type lkgFile struct {
	Dir      string `json:"dir"`
	KeyFile  string `json:"key_file,omitempty"`
	MaxAge   string `json:"max_age,omitempty"`
	Keep     int    `json:"keep,omitempty"`
	MaxBytes int64  `json:"max_bytes,omitempty"`
}

// file returns the fields of the file, or nil.
func (l *LastKnownGood) file() *lkgFile {
	if l == nil {
		return nil
	}
	f := &lkgFile{Dir: l.Dir, KeyFile: l.KeyFile, Keep: l.Keep, MaxBytes: l.MaxBytes}
	if l.MaxAge != 0 {
		f.MaxAge = l.MaxAge.String()
	}
	return f
}

// LastKnownGood returns the settings of the last known good store. It returns ok = false if the
// bootstrap has none.
func (c *Config) LastKnownGood() (settings LastKnownGood, ok bool) {
	if c.lastKnownGood == nil {
		return LastKnownGood{}, false
	}
	return *c.lastKnownGood, true
}
