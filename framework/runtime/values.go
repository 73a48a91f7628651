package runtime

import (
	"log/slog"
	"reflect"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// Format is the String method of generated updates. It writes name, version and the fields that are
// set. For lists and maps of more than eight elements it writes their number, for bytes their
// length. It omits secrets. The result is one line of at most 4 KiB. Format accepts a nil update,
// and one that no decoder made.
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
	server := ""
	if s := u.Server(); s != nil {
		server = s.URI()
	}
	return printable.Resource(u.Name().String(), u.Version(), server)
}

// MarshalJSON is the MarshalJSON method of generated updates of the named message. The result has
// the type, name, version and server, and the fields that are set as value. Members are in the
// order of the fields, and keys of maps are sorted. The value of an interface is an object with one
// member, whose name is that of the Go type. Bytes appear as their length, and messages as their
// name and size. Secrets are omitted. MarshalJSON accepts a nil update, and one that no decoder
// made.
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

// pointee returns the struct of an update. ok is false for a nil update.
func pointee(u resource.Update) (reflect.Value, bool) {
	v := reflect.ValueOf(u)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v, v.Kind() == reflect.Struct
}
