package priority

import (
	"testing"

	"google.golang.org/grpc/connectivity"
)

func TestChoose(t *testing.T) {
	none := view{}
	in := func(s connectivity.State) view { return view{exists: true, state: s} }
	ready, idle, failed := in(connectivity.Ready), in(connectivity.Idle), in(connectivity.TransientFailure)
	connecting := in(connectivity.Connecting)
	trying := view{exists: true, state: connectivity.Connecting, trying: true}
	for name, test := range map[string]struct {
		children []view
		want     choice
	}{
		"the first is created":           {[]view{none, none}, choice{use: 0, create: true}},
		"ready":                          {[]view{ready, none}, choice{use: 0, active: 1, deactivate: true}},
		"idle is good":                   {[]view{idle, ready}, choice{use: 0, active: 1, deactivate: true}},
		"better, though lower is ready":  {[]view{ready, ready, ready}, choice{use: 0, active: 1, deactivate: true}},
		"trying is waited for":           {[]view{trying, ready}, choice{use: 0, active: 1}},
		"failed, so the next is created": {[]view{failed, none, ready}, choice{use: 1, create: true, active: 1}},
		"no longer trying":               {[]view{connecting, ready, failed}, choice{use: 1, active: 2, deactivate: true}},
		"the second is trying":           {[]view{failed, trying, failed}, choice{use: 1, active: 2}},
		"none is good, one connects":     {[]view{failed, connecting, failed}, choice{use: 1, active: 3}},
		"all have failed":                {[]view{failed, failed, failed}, choice{use: 2, active: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := choose(test.children); got != test.want {
				t.Errorf("choose = %+v, want %+v", got, test.want)
			}
		})
	}
}
