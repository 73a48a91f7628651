package plugintest

import (
	"fmt"
	"os"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/descriptorsum"
)

// stale returns an error if the generated code does not fit its descriptor.
func (p *Plugin) stale() error {
	data, err := os.ReadFile(p.Descriptor)
	if err != nil {
		return fmt.Errorf("plugintest: the descriptor of the generated code cannot be read: %w", err)
	}
	if sum := descriptorsum.Of(resource.Contract2RerunGoGenerateIfMissing, data); sum != p.Sum {
		return fmt.Errorf("plugintest: sum of %s = %s; must be %s; the generated code is stale: run go generate", p.Descriptor, sum, p.Sum)
	}
	return nil
}
