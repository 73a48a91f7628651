// Package partial is about sources that know only a part of their resources, such as those of a folder with a file that cannot
// be read. Such a source must not say that a resource does not exist: it answers for the names that it knows, reports others
// as unavailable, and leaves collections unanswered.
package partial

import (
	"errors"
	"strings"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// Err is in the chain of the error in the state of a source that knows only a part of its resources. The state is stale.
var Err = errors.New("some resources are not known")

// Is reports whether a source with this state knows only a part of its resources.
func Is(s source.State) bool { return s.Kind == source.Stale && errors.Is(s.Err, Err) }

// epochPrefix begins the epochs of resources that are known in part. No other source has such epochs.
const epochPrefix = "partial:"

// Epoch returns the epoch of resources that are known in part. Another epoch follows when all are known, so that sessions
// report everything.
func Epoch(epoch string) string { return epochPrefix + epoch }

// IsEpoch reports whether the changes of an epoch are about resources that are known in part.
func IsEpoch(epoch string) bool { return strings.HasPrefix(epoch, epochPrefix) }

// Names returns the names that the resources of a change have, aliases among them.
func Names(ch *source.Change) map[source.Interest]bool {
	has := make(map[source.Interest]bool)
	for i := range ch.Put {
		r := &ch.Put[i]
		has[source.Interest(r.Key)] = true
		for _, a := range r.Aliases {
			has[source.Interest{Type: r.Type, Name: a}] = true
		}
	}
	return has
}

// Unavailable returns the error resources for the names that a change answers without a resource. They do not remove
// resources from clients (xRFC TP3).
func Unavailable(ch *source.Change, text string) (list []source.Resource) {
	has := Names(ch)
	for _, i := range ch.Complete {
		if has[i] || IsCollection(i.Name) {
			continue
		}
		r := source.Resource{Key: source.Key(i), Err: &rpcstatus.Status{Code: int32(codes.Unavailable), Message: text}}
		r.Version = source.Version(&r)
		list = append(list, r)
	}
	return list
}

// IsUnavailable reports whether a resource is an error that says nothing about the existence of the resource.
func IsUnavailable(r *source.Resource) bool {
	return r.Err != nil && codes.Code(r.Err.GetCode()) == codes.Unavailable //nolint:gosec // an unknown code is another one
}

// IsCollection reports whether the name of an interest stands for several resources.
func IsCollection(name string) bool {
	if name == source.Everything || name == source.Wildcard {
		return true
	}
	n, err := xdstp.Parse(name)
	return strings.HasPrefix(name, "xdstp:") && err == nil && n.IsGlob()
}
