package rbac

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/grpc/authz/audit"
	"google.golang.org/grpc/authz/audit/stdout"

	"github.com/xdsforge/xdsforge/framework/resource"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/rbac"
)

// auditLogger registers a builder's loggers with the half that reads configurations.
func auditLogger(b audit.LoggerBuilder) config.AuditLogger {
	return config.AuditLogger{
		Config: b.Name(),
		Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			if c.Fields == nil {
				return nil, errors.New("must be in a TypedStruct (A59)")
			}
			text, err := json.Marshal(c.Fields)
			if err != nil {
				return nil, err
			}
			parsed, err := b.ParseLoggerConfig(text)
			if err != nil {
				return nil, err
			}
			return built{b, parsed}, nil
		},
	}
}

// built is a parsed logger configuration and its builder.
type built struct {
	builder audit.LoggerBuilder
	config  audit.LoggerConfig
}

// auditors are the loggers of a filter and the decisions that they log.
type auditors struct {
	onAllow, onDeny bool
	loggers         []audit.Logger
}

func newAuditors(c config.Audit) (auditors, error) {
	if len(c.Loggers) == 0 {
		return auditors{}, nil // logs no decision
	}
	a := auditors{onAllow: c.OnAllow, onDeny: c.OnDeny}
	for _, l := range c.Loggers {
		switch parsed := l.Config.(type) {
		case built:
			a.loggers = append(a.loggers, parsed.builder.Build(parsed.config))
		case nil:
			a.loggers = append(a.loggers, audit.GetLoggerBuilder(stdout.Name).Build(nil))
		default:
			return a, fmt.Errorf("rbac: the configuration of the audit logger %s is a %T; must be one that the filter has read", l.Message, parsed)
		}
	}
	return a, nil
}

// wants reports whether the loggers log a decision.
func (a *auditors) wants(allowed bool) bool {
	return allowed && a.onAllow || !allowed && a.onDeny
}

// tell gives each logger a copy of the event.
func (a *auditors) tell(event *audit.Event) {
	for _, l := range a.loggers {
		e := *event
		l.Log(&e)
	}
}
