package kubeletsim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/traffic"
)

// TrafficWays returns where the requests of a question lead at present. What is not there is a way to a failure; the error is a
// *reach.InvalidError for a question that cannot be read.
func (k *network) TrafficWays(ctx context.Context, ask *reach.Ask) ([]traffic.Way, error) {
	ways, err := k.fabric.Ways(ctx, ask)
	var missing *reach.NotFoundError
	switch {
	case errors.As(err, &missing):
		return []traffic.Way{{Share: 1, Cause: traffic.NoSource, Where: missing.Error()}}, nil
	case err != nil:
		return nil, err
	}
	list := make([]traffic.Way, 0, len(ways))
	for i := range ways {
		list = append(list, k.trafficWay(&ways[i]))
	}
	return list, nil
}

// FollowTraffic calls changed after each change on which TrafficWays and the states of its servers may depend, until ctx ends. Calls may
// overlap.
func (k *network) FollowTraffic(ctx context.Context, changed func()) error {
	k.pods.follow(ctx, changed)
	return k.fabric.Follow(ctx, changed)
}

// trafficWay returns a way as traffic sees it.
func (k *network) trafficWay(w *reach.Way) traffic.Way {
	if w.Silent != "" {
		return traffic.Way{Share: w.Share, Cause: traffic.NoSource, Where: w.Silent}
	}
	path := w.Path
	if w.Router != nil {
		if w.Router.Next == nil || w.Router.Status != 0 {
			return routerFailure(w)
		}
		path = w.Router.Next
	}
	way := traffic.Way{Share: w.Share, After: path.Outcome.After(), Where: path.Why}
	if path.Pod != nil {
		way.Where = "pod " + path.Pod.Namespace + "/" + path.Pod.Name
	}
	switch path.Outcome {
	case reach.Connected:
		way.Server, way.After = k.trafficServer(path), 0
	case reach.Refused:
		if way.Cause = traffic.Refused; path.Choice != nil && path.Endpoint == nil {
			way.Cause = traffic.NoEndpoint
		}
	case reach.TimedOut:
		if way.Cause = traffic.Lost; path.Verdict != nil && !path.Verdict.Allowed() {
			way.Cause = traffic.Denied
		}
	case reach.NoRoute:
		way.Cause = traffic.NoRoute
		if name, ok := k.reached.Load(path.Target.Addr()); ok {
			way.Where = name.(string)
		}
	case reach.Reset:
		way.Cause = traffic.Reset
	case reach.NoSuchHost, reach.NoNameServer, reach.ServerFailure:
		way.Cause = traffic.Unresolved
	default:
		way.Cause = traffic.Unreachable
	}
	return way
}

// routerFailure returns the failure of a request that a router answers itself.
func routerFailure(w *reach.Way) traffic.Way {
	d := w.Router
	way := traffic.Way{Share: w.Share, Cause: traffic.RouterError, Where: fmt.Sprintf("%d %s: %s", d.Status, http.StatusText(d.Status), d.Why)}
	if d.Next != nil && d.Next.Pod != nil {
		way.Where = fmt.Sprintf("%d %s: pod %s/%s", d.Status, http.StatusText(d.Status), d.Next.Pod.Namespace, d.Next.Pod.Name)
	}
	return way
}

// trafficServer returns the server at the end of a path.
func (k *network) trafficServer(path *reach.Path) traffic.Server {
	s := &trafficServer{k: k, profile: traffic.DefaultProfile(), name: path.Target.String(), id: path.Target.String()}
	if path.Pod == nil {
		return s
	}
	s.name, s.node, s.container = "pod "+path.Pod.Namespace+"/"+path.Pod.Name, path.Node, path.Listener.Container
	k.reached.Store(path.Target.Addr(), s.name)
	pod := path.Pod
	if own := k.pods.get(pod.UID); own != nil && k.shards.owns(path.Node) {
		shown := own.See()
		s.e, s.run, pod = own, shown.RunOf(s.container), shown.Pod
		s.started = shown.Began(s.container)
	} else {
		pod = k.images.Annotate(pod)
	}
	s.id = string(pod.UID) + "/" + s.container + "/" + s.run
	s.profile, s.invalid = traffic.ProfileOf(pod, s.container)
	return s
}

// trafficServer is a run of a container that answers requests. Without a container, it is a part of the cluster, which never ends.
type trafficServer struct {
	k                              *network
	id, name, node, container, run string
	profile                        traffic.Profile
	started                        time.Time
	// invalid is why its annotation has no effect; nil: it has.
	invalid error
	// e is nil for a pod that another process simulates.
	e *podEntry
}

// ID, Name, Profile, Started and Invalid implement traffic.Server.
func (s *trafficServer) ID() string               { return s.id }
func (s *trafficServer) Name() string             { return s.name }
func (s *trafficServer) Profile() traffic.Profile { return s.profile }
func (s *trafficServer) Started() time.Time       { return s.started }
func (s *trafficServer) Invalid() error           { return s.invalid }

// Deleted implements traffic.Server.
func (s *trafficServer) Deleted() bool {
	if s.e == nil {
		return false
	}
	shown := s.e.See()
	return shown.Gone || shown.Pod.DeletionTimestamp != nil
}

// State implements traffic.Server.
func (s *trafficServer) State() traffic.State {
	if s.e == nil {
		return traffic.Serving
	}
	shown := s.e.See()
	switch runs := s.run != "" && shown.RunOf(s.container) == s.run; {
	case s.k.cut("", s.node) != "":
		return traffic.Silent
	case runs && s.profile.Finishes && shown.Signalled(s.container):
		return traffic.Finishing
	case s.profile.Finishes && shown.State.HasStopped(s.container):
		return traffic.Finished
	case runs:
		return traffic.Serving
	}
	return traffic.Ended
}
