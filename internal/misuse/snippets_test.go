package misuse

// A snippet is code of a program. It has the variables ctx and c, a context and a
// resource.Client, and may use the packages of imports.
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
		{"handle, function and event of the same type", `
			func f() {
				for ev := range cluster.Type().Watch(ctx, c, "n") {
					use(ev)
				}
				cluster.Subscribe(c, "n", use)
			}
			func use(ev cluster.Event) {}`, ""},
		{
			"function of one type, subscription of another", `
			func f() { cluster.Subscribe(c, "n", func(route.Event) {}) }`,
			"as func(cluster.Event) value in argument to cluster.Subscribe",
		},
		{
			"handle of one type for a function of another", `
			func f() { g(cluster.Type()) }
			func g(resource.TypeOf[*route.Update]) {}`,
			"as resource.TypeOf[*route.Update] value in argument to g",
		},
		{
			"decoder of one type, handle of another", `
			var _ resource.TypeOf[*route.Update] = resource.Define(resource.Spec[*cluster.Update]{})`,
			"as resource.TypeOf[*route.Update] value in variable declaration",
		},
		{
			"client of the program's own", `
			type fake struct{}
			func f() { cluster.Get(ctx, fake{}, "n") }`,
			"as resource.Client value in argument to cluster.Get",
		},
		{
			"update and error as two variables", `
			func f() {
				for u, err := range cluster.Watch(ctx, c, "n") {
					_, _ = u, err
				}
			}`,
			"permits only one iteration variable",
		},

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

		{"settings at the right end", `
			func f() {
				grpcxds.Dialer{DisableRetries: true}.NewClient("x", grpcxds.WithCredentials(nil))
				grpcxds.ServerConfig{DrainTime: -1}.NewServer(grpcxds.Creds(nil))
				xdsforge.New(xdsforge.WithTypes(grpcxds.Register, cluster.Register))
			}`, ""},
		{
			"credentials of a channel for a server", `
			func f() { grpcxds.NewServer(grpcxds.WithCredentials(nil)) }`,
			"(value of interface type grpc.DialOption) as grpc.ServerOption value",
		},
		{
			"credentials of a server for a channel", `
			func f() { grpcxds.NewClient("x", grpcxds.Creds(nil)) }`,
			"(value of interface type grpc.ServerOption) as grpc.DialOption value",
		},
		{
			"a Dialer as an option of grpc-go", `
			func f() { grpc.NewClient("x", grpcxds.Dialer{}) }`,
			"(value of struct type grpcxds.Dialer) as grpc.DialOption value",
		},
		{
			"a ServerConfig as an option of grpc-go", `
			func f() { grpc.NewServer(grpcxds.ServerConfig{}) }`,
			"(value of struct type grpcxds.ServerConfig) as grpc.ServerOption value",
		},
		{
			"a setting of servers for a channel", `
			func f() { grpcxds.Dialer{ModeChanged: nil}.NewClient("x") }`,
			"unknown field ModeChanged in struct literal of type grpcxds.Dialer",
		},
		{
			"an option of an Env for a channel", `
			func f() { grpcxds.NewClient("x", xdsforge.WithTypes()) }`,
			"(value of func type xdsforge.Option) as grpc.DialOption value",
		},
		{
			"an option of the program's own", `
			func f() { xdsforge.New(func() {}) }`,
			"as xdsforge.Option value",
		},
	}
}
