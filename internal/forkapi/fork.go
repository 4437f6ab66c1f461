package forkapi

import (
	"context"
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

// running is a fork that runs.
type running struct {
	shown   Fork
	cluster *minikcm.Cluster
	page    *ui.Server
	dir     string
	// requests are the open requests to its clock and its comparison. They end with it.
	requests openrequests.Group
}

// start starts a fork with the objects of a revision.
func start(ctx context.Context, opts *Options, source *rest.Config, id string, revision int64, at time.Time) (r *running, err error) {
	objects, err := dump.FromRevision(ctx, source, strconv.FormatInt(revision, 10))
	if err != nil {
		return nil, err
	}
	r = &running{shown: Fork{ID: id, Revision: revision, Time: at.UTC()}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.stop())
		}
	}()
	if r.dir, err = os.MkdirTemp("", "minikcm-fork-"); err != nil {
		return nil, fmt.Errorf("making a folder for the kubeconfig: %w", err)
	}
	if r.page, err = ui.Listen(ctx, opts.Page); err != nil {
		return nil, err
	}
	own := settings(opts.Cluster)
	own.Storage.Objects, own.Clock.Start = objects, at
	own.Fork = &minikcm.ForkInfo{ID: id, Revision: revision, Time: at.UTC()}
	own.API.KubeconfigPath = filepath.Join(r.dir, "kubeconfig")
	own.API.Extensions = append(opts.Extensions(), r.page.Extension())
	if r.cluster, err = minikcm.Start(ctx, own); err != nil {
		return nil, fmt.Errorf("starting the fork: %w", err)
	}
	r.shown.Server, r.shown.Kubeconfig = "https://"+r.cluster.Address(), own.API.KubeconfigPath
	if loaded := r.cluster.Loaded(); loaded != nil {
		r.shown.LeftOut = len(loaded.Refused)
	}
	return r, nil
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

// stop ends a fork, also one that has not started whole.
func (r *running) stop() (err error) {
	r.requests.Close()
	if r.cluster != nil {
		err = r.cluster.Close()
	}
	r.page.Close()
	if r.dir != "" {
		err = errors.Join(err, os.RemoveAll(r.dir))
	}
	return err
}
