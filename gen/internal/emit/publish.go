package emit

import "github.com/dave/jennifer/jen"

// publish writes the typed functions that change a store. They call those of package publish with
// the handle of the type. A message without a name gets it as a parameter.
func (e *emitter) publish() []jen.Code {
	short := string(e.pkg.Message.Desc.Name())
	put, add, under, param, args := "Put", "AddTo", "the name in its message", "", "m"
	if e.pkg.NameField == nil {
		put, add, under, param, args = "PutNamed", "AddNamed", "a name", "name string, ", "name, m"
	}
	message := e.message(e.pkg.Message)
	return []jen.Code{
		e.documented("Put adds or replaces a "+short+" in a store, under "+under+". A checked store returns a [*publish.Rejected] with every violation.",
			"func Put(ctx context.Context, s publish.Store, "+param+"m $) (publish.Revision, error) {\nreturn publish."+put+"(ctx, s, typ, "+args+")\n}", message),
		e.documented("Delete deletes the named "+short+" from a store. It has no effect if the resource does not exist.",
			"func Delete(ctx context.Context, s publish.Store, name string) (publish.Revision, error) {\nreturn publish.Delete(ctx, s, typ, name)\n}"),
		e.documented("AddTo adds the put of a "+short+" to a transaction, under "+under+".",
			"func AddTo(tx *publish.Tx, "+param+"m $) error {\nreturn publish."+add+"(tx, typ, "+args+")\n}", message),
	}
}
