package etcd

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/tlsfiles"
	"github.com/xdsforge/xdsforge/publish"
)

// A Store keeps the resources of a tenant in etcd. It is safe for concurrent use. [Open] returns one. Close it
// after use.
type Store struct {
	options Options
	files   *tlsfiles.Reader // of TLS; nil: there are none
	keys    keys
	dialing chan struct{}    // has a token while the client is being created
	client  *clientv3.Client // of all endpoints, for commits and reads; see connect
	writing chan struct{}    // has a token during a commit
	known   head             // of the last commit; who commits owns it

	connections connections

	ctx    context.Context //nolint:containedctx // ends with Close
	cancel context.CancelCauseFunc
	follow *follower

	mu      sync.Mutex // guards closed and the start of the follower
	closed  bool
	started bool
	done    sync.WaitGroup
}

var _ publish.Store = (*Store)(nil)

// maxSend is the limit of a request in bytes. The limit of the nodes is usually lower.
const maxSend = 64 << 20

// Open returns a store. It does not wait for the nodes. It fails if an option is invalid.
func Open(o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	s := &Store{options: o, keys: keysOf(o.Tenant), writing: make(chan struct{}, 1), dialing: make(chan struct{}, 1)}
	if o.files != (tlsfiles.Files{}) {
		var err error
		if s.files, err = tlsfiles.Open(o.files, s.badFiles); err != nil {
			return nil, fmt.Errorf("etcd: %w", err)
		}
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.follow = newFollower(s)
	return s, nil
}

// connect creates the client. Nobody reads the client before.
func (s *Store) connect(ctx context.Context) error {
	select {
	case s.dialing <- struct{}{}:
		defer func() { <-s.dialing }()
	case <-ctx.Done():
		return ended(context.Cause(ctx), nil)
	}
	if s.client != nil {
		return nil
	}
	return s.retry(ctx, func(context.Context) (err error) {
		s.client, err = s.dial(s.options.Endpoints...)
		return err
	})
}

// dial returns a client of endpoints. It waits for the nodes if there is a user.
func (s *Store) dial(endpoints ...string) (*clientv3.Client, error) {
	config := clientv3.Config{
		Endpoints: endpoints, TLS: s.options.TLS, Username: s.options.Username, Password: s.options.Password,
		DialTimeout: s.options.Timeout, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second,
		MaxCallSendMsgSize: maxSend, Context: s.ctx, Logger: zap.NewNop(),
	}
	config.DialOptions = []grpc.DialOption{grpc.WithTransportCredentials(s.credentials(endpoints[0]))}
	c, err := clientv3.New(config)
	if err != nil {
		return nil, s.because(err)
	}
	return c, nil
}

// Open implements [source.Source]. The first session starts to follow the keys of the store.
func (s *Store) Open(ctx context.Context, sink source.Sink) (source.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("etcd: %w", ErrClosed)
	}
	if !s.started {
		s.started = true
		s.done.Go(s.follow.run)
		s.done.Go(s.follow.watchAge)
	}
	inner, err := s.follow.memory.Open(ctx, sink)
	if err != nil {
		return nil, err
	}
	return &session{Session: inner, follow: s.follow, waiting: make(map[source.Interest]struct{})}, nil
}

// Close ends following the keys, and the connections. Sessions keep their resources.
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.cancel(ErrClosed)
	s.done.Wait()
	s.dialing <- struct{}{} // for good: there is no other client
	if s.client == nil {
		return nil
	}
	return s.client.Close()
}
