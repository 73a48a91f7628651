package extproc

import (
	"fmt"
	"sync"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/extproc"
)

// maxLingering limits the streams of one configuration that stay open after their calls.
const maxLingering = 1000

// A processor is the service of one configuration. The channel to it is open until the configuration is closed and the last
// stream has ended.
type processor struct {
	config  config.Config
	client  extprocv3.ExternalProcessorClient
	channel grpc.ClientConnInterface // of the client
	metrics *metrics
	release func()

	mu        sync.Mutex // guards the fields below
	uses      int        // streams, and 1 for the configuration
	lingering int        // streams whose calls have ended
}

// newProcessor returns nil if the modes select no events.
func newProcessor(h httpfilter.Host, base, override any, side string) (*processor, error) {
	c, err := merge(base, override)
	if err != nil || c.Modes == (config.Modes{}) {
		return nil, err
	}
	m, err := newMetrics(h.Meter, side, h.Target)
	if err != nil {
		return nil, fmt.Errorf("extproc: %w", err)
	}
	cc, release, err := h.Channel(c.Service)
	if err != nil {
		return nil, fmt.Errorf("extproc: %w", err)
	}
	return &processor{config: c, client: extprocv3.NewExternalProcessorClient(cc), channel: cc, metrics: m, release: release, uses: 1}, nil
}

// Close ends the use of the processor by its configuration.
func (p *processor) Close() error {
	p.drop()
	return nil
}

// use adds a stream. It is called during a call, so that the configuration is still open.
func (p *processor) use() {
	p.mu.Lock()
	p.uses++
	p.mu.Unlock()
}

// drop removes a stream or the configuration.
func (p *processor) drop() {
	p.mu.Lock()
	p.uses--
	last := p.uses == 0
	p.mu.Unlock()
	if last {
		p.release()
	}
}

// linger reports whether a stream may stay open after its call. The stream calls depart at its end if so.
func (p *processor) linger() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lingering >= maxLingering {
		return false
	}
	p.lingering++
	return true
}

func (p *processor) depart() {
	p.mu.Lock()
	p.lingering--
	p.mu.Unlock()
}
