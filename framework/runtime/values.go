package runtime

import (
	"log/slog"
	"reflect"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// Format is the String method of generated updates: name and version, and the fields that
// are set. Lists and maps of more than eight elements appear as their number, bytes as their
// length, secrets not at all. The result is one line of at most 4 KiB. Format accepts a nil
// update, and one that no decoder made.
func Format(u resource.Update) string {
	v, ok := pointee(u)
	if !ok {
		return "<nil>"
	}
	p := newText()
	if name := u.Name().String(); name != "" {
		p.write(printable.Quote(name, printable.Short) + " ")
	}
	if version := u.Version(); version != "" {
		p.write("version " + printable.Quote(version, printable.Short) + " ")
	}
	p.fields(v, 0)
	return p.done()
}

// LogValue is the LogValue method of generated updates: name, version and server.
func LogValue(u resource.Update) slog.Value {
	if _, ok := pointee(u); !ok {
		return slog.StringValue("<nil>")
	}
	attrs := []slog.Attr{
		slog.String("name", printable.Text(u.Name().String(), printable.Quoted)),
		slog.String("version", printable.Text(u.Version(), printable.Short)),
	}
	if s := u.Server(); s != nil {
		attrs = append(attrs, slog.String("server", s.URI()))
	}
	return slog.GroupValue(attrs...)
}

// MarshalJSON is the MarshalJSON method of generated updates of the named message: its type,
// name, version and server, and as value the fields that are set. Members are in the order
// of the fields, keys of maps are sorted. The value of an interface is an object with one
// member, whose name is that of the Go type. Bytes appear as their length, messages as their
// name and size, secrets not at all. MarshalJSON accepts a nil update, and one that no
// decoder made.
func MarshalJSON(message string, u resource.Update) ([]byte, error) {
	v, ok := pointee(u)
	if !ok {
		return []byte("null"), nil
	}
	p := newJSON()
	p.b = append(p.b, '{')
	p.member("type", message)
	p.member("name", u.Name().String())
	p.member("version", u.Version())
	if s := u.Server(); s != nil {
		p.member("server", s.URI())
	}
	p.key("value")
	p.fields(v, 0)
	return append(p.b, '}'), nil
}

// pointee is the struct of an update. Not ok: the update is nil.
func pointee(u resource.Update) (reflect.Value, bool) {
	v := reflect.ValueOf(u)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v, v.Kind() == reflect.Struct
}
