package client_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsmemory"
)

// A moving is a server that streams reach, and that a later one replaces.
type moving struct {
	core atomic.Pointer[adsserver.Core]
}

func (m *moving) Dial(*bootstrap.Server) (transport.Conn, error) { return m, nil }

func (m *moving) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	c, err := adsmemory.Transport{Core: m.core.Load()}.Dial(nil)
	if err != nil {
		return nil, err
	}
	return c.OpenStream(ctx, method)
}

func (*moving) Close() error { return nil }

// A client comes back to a server of which one authority has never been up. After the time limit, the client receives the
// resources of the other one, and keeps those of the first.
func TestReturnToAServerWithADeadAuthority(t *testing.T) {
	const far = "xdstp://e/test.Thing/far"
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				types, err := resource.NewSet(things)
				if err != nil {
					t.Fatal(err)
				}
				newCore := func(tag string, far source.Source) *adsserver.Core {
					m := source.NewMemory()
					tx := new(source.Tx).Put(source.Resource{Key: source.Key{Type: things.URL(), Name: "a"}, Body: thing("a", tag).Body})
					if _, err := m.Commit(t.Context(), tx); err != nil {
						t.Fatal(err)
					}
					core, err := adsserver.New(adsserver.Config{
						Source: m, Authorities: map[string]source.Source{"e": far}, Type: adsserver.TypesOf(types), AnswerTimeout: 10 * time.Second,
					})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = core.Close() })
					return core
				}
				alive, dead := source.NewMemory(), source.NewMemory()
				dead.SetState(source.State{})
				tx := new(source.Tx).Put(source.Resource{Key: source.Key{Type: things.URL(), Name: far}, Body: thing(far, "1").Body})
				if _, err := alive.Commit(t.Context(), tx); err != nil {
					t.Fatal(err)
				}
				first, second := newCore("1", alive), newCore("2", dead)
				m := new(moving)
				m.core.Store(first)
				e := server("memory:1", protocol)
				spec := bootstrap.Spec{Servers: []bootstrap.ServerSpec{e}, Authorities: map[string]bootstrap.AuthoritySpec{"e": {Servers: []bootstrap.ServerSpec{e}}}}
				c, err := newWith(config(t, spec), types, withTransport(m))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				a, x := follow(t.Context(), t, c, things, "a"), follow(t.Context(), t, c, things, far)
				a.value("1")
				x.value("1")
				pass(time.Minute)
				m.core.Store(second)
				first.Cut(errors.New("replaced"))
				pass(time.Minute)
				a.value("2")
				x.ambient(resource.ErrUnavailable)
			})
		})
	}
}
