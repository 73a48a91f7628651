package files

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/envelope"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// reading notes the resource that is read, so that its errors are recorded under its name. It returns
// a function that restores the previous one.
func (p *parser) reading(n *node, name string) (done func()) {
	last := p.key
	done = func() { p.key = last }
	for _, field := range []string{"name", "cluster_name", "clusterName"} {
		if name == "" {
			name = textOf(n.Get(field))
		}
	}
	if parsed, err := p.dir.parseName(name); err == nil {
		p.key = claimed(source.Key{Type: urlPrefix + envelope.MessageName(textOf(n.Get("@type"))), Name: parsed.String()})
	}
	return done
}

// claimed returns the key, or the zero key if no resource can have it.
func claimed(k source.Key) source.Key {
	if new(source.Tx).Delete(k).Check() != nil {
		return source.Key{}
	}
	return k
}

// joined appends an error to the text of a resource's errors, which is bounded.
func joined(text string, err error) string {
	if text != "" {
		text += "; "
	}
	return printable.Text(text+err.Error(), printable.Quoted)
}

// keep keeps the resources of the last version. The resources that only this version has, or that are
// valid only in this one, get an error.
func (f *file) keep(old *file) {
	broken := make(map[source.Key]string)
	for _, r := range f.resources {
		broken[r.Key] = joined("the file has errors, so that its last valid version stays in use", f.err)
	}
	for _, from := range []map[source.Key]string{old.broken, f.broken} {
		maps.Copy(broken, from)
	}
	for _, r := range old.resources {
		delete(broken, r.Key)
	}
	f.resources, f.broken, f.unknown = old.resources, broken, old.unknown && f.unknown
}

// keepBelow keeps the last versions of a file that cannot be read, or of all files below a directory that cannot be read.
func (d *Dir) keepBelow(next map[string]*file, name string, b bad) {
	f := &file{err: fmt.Errorf("%s: %s", name, b.text), unknown: !b.known}
	next[name] = f
	for path, old := range d.files {
		switch {
		case path == name:
			f.resources, f.broken, f.unknown = old.resources, old.broken, f.unknown && old.unknown
		case strings.HasPrefix(path, name+string(filepath.Separator)) && next[path] == nil:
			next[path], f.unknown = old, false
		}
	}
	if old := d.files[name]; old == nil || old.err == nil || old.err.Error() != f.err.Error() {
		d.options.Logger.Warn("file rejected", "file", filepath.Join(d.path, name), "error", printable.Text(f.err.Error(), printable.Whole))
	}
}

// refusal returns a resource of which the files have no valid version. Its error does not remove the
// resource from clients that have an earlier version (xRFC TP3).
func refusal(k source.Key, text string) source.Resource {
	r := source.Resource{Key: k, Err: &rpcstatus.Status{Code: int32(codes.InvalidArgument), Message: text}}
	r.Version = source.Version(&r)
	return r
}
