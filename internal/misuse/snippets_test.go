package misuse

// A snippet is code of a program. It has the variables ctx and c, a context and a
// resource.Source, and may use the packages of imports.
type snippet struct {
	name string
	code string
	want string // in the compiler's only error; empty: the snippet compiles
}

func snippets() []snippet {
	return []snippet{
		{"update and getter of the same type", `
			func f() (u *cluster.Update, err error) {
				u, err = cluster.Get(ctx, c, "n")
				return
			}`, ""},
		{"update of one type, getter of another", `
			func f() (u *route.Update, err error) {
				u, err = cluster.Get(ctx, c, "n")
				return
			}`, "(value of type *cluster.Update) as *route.Update value"},

		{"options at the right end", `
			func f() {
				grpcxds.NewClient("x", grpc.WithTransportCredentials(nil))
				grpcxds.NewServer(grpc.Creds(nil))
			}`, ""},
		{
			"option of a client for a server", `
			func f() { grpcxds.NewServer(grpc.WithTransportCredentials(nil)) }`,
			"(value of interface type grpc.DialOption) as grpc.ServerOption value",
		},
		{
			"option of a server for a client", `
			func f() { grpcxds.NewClient("x", grpc.Creds(nil)) }`,
			"(value of interface type grpc.ServerOption) as grpc.DialOption value",
		},
	}
}
