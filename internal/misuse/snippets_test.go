package misuse

// A snippet is code of a program. It has the variables ctx and c, a context and a
// resource.Client, and may use the packages of imports.
type snippet struct {
	name string
	code string
	want string // a part of the compiler's only error; empty if the snippet compiles
}

func snippets() []snippet {
	return []snippet{
		{"every value in its place", `
			func decode(*resource.DecodeContext, []byte) (*cluster.Update, error) { return nil, nil }

			var defined = resource.Define(resource.Spec[*cluster.Update]{Decode: decode})

			func takes(resource.TypeOf[*cluster.Update]) {}

			func f(fake *xdstest.Fake) (u *cluster.Update, err error) {
				u, err = cluster.Type().Get(ctx, c, "n")
				takes(cluster.Type())
				xdstest.Emit(fake, cluster.Type(), "n", cluster.Event{})
				for ev := range cluster.Watch(ctx, fake, "n") {
					u, err = ev.Update, ev.Err
				}
				xdsforge.New(xdsforge.WithTypes(cluster.Register))
				grpcxds.Dialer{}.NewClient("x", grpcxds.WithCredentials(nil), grpc.WithUserAgent("a"))
				grpcxds.ServerConfig{ModeChanged: nil}.NewServer(grpcxds.Creds(nil), grpc.MaxRecvMsgSize(1))
				return
			}`, ""},

		{"update of one type, handle of another", `
			func f() (u *route.Update, err error) {
				u, err = cluster.Type().Get(ctx, c, "n")
				return
			}`, "(value of type *cluster.Update) as *route.Update value"},
		{"update of one type, getter of another", `
			func f() (u *route.Update, err error) {
				u, err = cluster.Get(ctx, c, "n")
				return
			}`, "(value of type *cluster.Update) as *route.Update value"},
		{"handle of another type", `
			func takes(resource.TypeOf[*cluster.Update]) {}

			func f() { takes(route.Type()) }`, "resource.TypeOf[*route.Update]) as resource.TypeOf[*cluster.Update] value"},
		{
			"event of another type in a fake", `
			func f(fake *xdstest.Fake) { xdstest.Emit(fake, cluster.Type(), "n", route.Event{}) }`,
			"type route.Event of route.Event{} does not match inferred type resource.Event[*cluster.Update]",
		},
		{"decoder of another type", `
			func decode(*resource.DecodeContext, []byte) (*route.Update, error) { return nil, nil }

			var defined = resource.Define(resource.Spec[*cluster.Update]{Decode: decode})`, "(*route.Update, error)) as func("},
		{"client of another package", `
			type mine struct{}

			func (mine) source() any { return nil }

			var _ resource.Client = mine{}`, "mine does not implement resource.Client (unexported method source)"},
		{"two variables over events", `
			func f() {
				for u, err := range cluster.Watch(ctx, c, "n") {
					_, _ = u, err
				}
			}`, "permits only one iteration variable"},

		{"dialer as an option", `
			func f() { grpc.NewClient("x", grpcxds.Dialer{}) }`, "grpcxds.Dialer does not implement grpc.DialOption"},
		{"server configuration as an option", `
			func f() { grpc.NewServer(grpcxds.ServerConfig{}) }`, "grpcxds.ServerConfig does not implement grpc.ServerOption"},
		{"server configuration for a client", `
			func f() { grpcxds.ServerConfig{}.NewClient("x") }`, "NewClient undefined"},
		{"setting of a server in a dialer", `
			func f() { grpcxds.Dialer{ModeChanged: nil}.NewClient("x") }`, "unknown field ModeChanged in struct literal of type grpcxds.Dialer"},
		{
			"credentials of a client for a server", `
			func f() { grpcxds.NewServer(grpcxds.WithCredentials(nil)) }`,
			"(value of interface type grpc.DialOption) as grpc.ServerOption value",
		},
		{
			"credentials of a server for a client", `
			func f() { grpcxds.NewClient("x", grpcxds.Creds(nil)) }`,
			"(value of interface type grpc.ServerOption) as grpc.DialOption value",
		},
		{"option of an environment for a channel", `
			func f() { grpcxds.NewClient("x", xdsforge.WithTypes()) }`, "xdsforge.Option does not implement grpc.DialOption"},
		{
			"grpc's option of a client for a server", `
			func f() { grpcxds.NewServer(grpc.WithTransportCredentials(nil)) }`,
			"(value of interface type grpc.DialOption) as grpc.ServerOption value",
		},
		{
			"grpc's option of a server for a client", `
			func f() { grpcxds.NewClient("x", grpc.Creds(nil)) }`,
			"(value of interface type grpc.ServerOption) as grpc.DialOption value",
		},
		{
			"function of one type, subscription of another", `
			func f() { cluster.Subscribe(c, "n", func(route.Event) {}) }`,
			"as func(cluster.Event) value in argument to cluster.Subscribe",
		},
		{
			"interceptor of a server for a channel", `
			var _ = httpfilter.ClientFunc(func(_, _ any) (httpfilter.ServerInterceptor, error) { return nil, nil })`,
			"as func(config any, override any) (httpfilter.ClientInterceptor, error) value in argument to httpfilter.ClientFunc",
		},
		{
			"interceptor with a wrong signature", `
			type filter struct{}
			func (filter) NewStream(context.Context, *httpfilter.ClientCall, func()) (grpc.ClientStream, error) { return nil, nil }
			var _ = httpfilter.ClientFunc(func(_, _ any) (httpfilter.ClientInterceptor, error) { return filter{}, nil })`,
			"filter does not implement httpfilter.ClientInterceptor (wrong type for method NewStream)",
		},
		{
			"instance without an end", `
			type instance struct{}
			func (instance) Interceptor(_, _ any) (httpfilter.ServerInterceptor, error) { return nil, nil }
			var _ httpfilter.ServerInstance = instance{}`,
			"instance does not implement httpfilter.ServerInstance (missing method Close)",
		},
		{
			"function without its type", `
			func before(context.Context, *httpfilter.ClientCall) (context.Context, error) { return nil, nil }
			var _ = httpfilter.ClientFunc(func(_, _ any) (httpfilter.ClientInterceptor, error) { return before, nil })`,
			"does not implement httpfilter.ClientInterceptor",
		},
		{
			"an option of the program's own", `
			func f() { xdsforge.New(func() {}) }`,
			"as xdsforge.Option value",
		},
	}
}
