package forkapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/internal/ui"
	"minikcm.dev/minikcm/store"
)

// Fork is a fork as the API shows it.
type Fork struct {
	ID string `json:"id"`
	// Revision is the forked cluster's revision whose objects the fork began with. Time is the time
	// of that revision, at which the fork's clock began.
	Revision int64     `json:"revision"`
	Time     time.Time `json:"time"`
	// Server is its API server's address, and Kubeconfig the file of its administrator's
	// kubeconfig.
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	// Link opens its page once. Only the response to a POST has it; a POST to its
	// /minikcm/v1/ui makes others.
	Link string `json:"link,omitempty"`
	// LeftOut counts the objects that its API server refused.
	LeftOut int `json:"leftOut"`
}

// running is a fork, from the request for it to its end. The service's lock guards what changes.
type running struct {
	shown Fork
	user  string
	// given is the spec of the object.
	given json.RawMessage
	phase phase
	// since is when the phase began, by the clock of the forked cluster.
	since time.Time
	// failure is why it did not start.
	failure error
	// cancel ends the start. started is closed when it has started, or has failed to.
	cancel  context.CancelCauseFunc
	started chan struct{}
	// ended is closed when it has ended, with stopError.
	ended     chan struct{}
	stopError error
	// requests are the open requests to its clock and its comparison. They end with it.
	requests openrequests.Group

	parts
}

// parts are the parts of a fork that has started.
type parts struct {
	cluster *minikcm.Cluster
	// page is nil if the forked cluster has none.
	page *ui.Server
	dir  string
}

// start starts the cluster of a fork with the objects of a revision. It completes shown.
func start(ctx context.Context, opts *Options, source *rest.Config, shown *Fork) (p parts, err error) {
	objects, err := dump.FromRevision(ctx, source, strconv.FormatInt(shown.Revision, 10))
	if err != nil {
		return parts{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
			p = parts{}
		}
	}()
	if p.dir, err = os.MkdirTemp("", "minikcm-fork-"); err != nil {
		return p, fmt.Errorf("making a folder for the kubeconfig: %w", err)
	}
	own := settings(opts.Cluster)
	own.Storage.Objects, own.Clock.Start = objects, shown.Time
	own.Fork = &minikcm.ForkInfo{ID: shown.ID, Revision: shown.Revision, Time: shown.Time}
	own.API.KubeconfigPath = filepath.Join(p.dir, "kubeconfig")
	own.API.Extensions = opts.Extensions()
	if opts.Page != nil {
		if p.page, err = ui.Listen(ctx, *opts.Page); err != nil {
			return p, err
		}
		own.API.Extensions = append(own.API.Extensions, p.page.Extension())
	}
	if p.cluster, err = minikcm.Start(ctx, own); err != nil {
		return p, fmt.Errorf("starting the fork: %w", err)
	}
	shown.Server, shown.Kubeconfig = "https://"+p.cluster.Address(), own.API.KubeconfigPath
	if loaded := p.cluster.Loaded(); loaded != nil {
		shown.LeftOut = len(loaded.Refused)
	}
	return p, nil
}

// settings returns the options of a cluster for its forks: without its store, its files and its
// nodes, which are among the objects.
func settings(o minikcm.Options) minikcm.Options {
	o.Nodes.Count, o.Nodes.Pools, o.Nodes.Manage = -1, nil, minikcm.ManageAll
	o.Storage.DataDir, o.Storage.Snapshot, o.Sharing.Etcd, o.Security.Identity, o.Storage.EncryptionConfig = "", "", store.EtcdOptions{}, nil, ""
	o.Nodes.Stages.Manifests = nil // they are among the objects
	o.API.BindAddress, o.API.Port, o.API.Certificate = "", 0, minikcm.ServingCertificate{}
	o.Security.Audit, o.API.Gatherer = apiserver.AuditOptions{}, nil
	o.Clock.Mode, o.Clock.Speed, o.Clock.Driven, o.NoWait = clock.ModeVirtual, 1, false, false
	return o
}

// stop stops the parts that have started.
func (p *parts) stop() (err error) {
	if p.cluster != nil {
		err = p.cluster.Close()
	}
	p.page.Close()
	if p.dir != "" {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}
