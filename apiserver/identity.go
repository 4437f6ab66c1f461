package apiserver

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/apiserver/internal/identity"
	"minikcm.dev/minikcm/apiserver/internal/upkeep"
)

// identified holds the periodic work by which the server makes itself known to others. Its zero value does
// nothing.
type identified struct {
	lease *identity.Lease
	// works renews the Lease, deletes expired ones, and repeats the reports of StorageVersions.
	works []*upkeep.Periodic
}

// KeepIdentity creates the identity Lease with the given name (KEP-1965) and renews it until ReleaseIdentity, as
// upstream with the feature gate APIServerIdentity. It also deletes the identity Leases that have expired. hostname
// labels the Lease; empty: no label. It must be called at most once, and not at the same time as
// ReportStorageVersions.
func (s *Server) KeepIdentity(ctx context.Context, name, hostname string) error {
	client, err := s.identityClient()
	if err != nil {
		return err
	}
	lease := &identity.Lease{
		Client: client, Clock: s.opts.Clock, Name: name, Hostname: hostname,
		Holder: fmt.Sprintf("%s_%s", name, s.chance.For("identity").UID()),
	}
	if err := lease.Take(ctx); err != nil {
		return err
	}
	s.identified.lease = lease
	s.repeat(identity.RenewInterval, lease.Renew)
	s.repeat(identity.CollectInterval, lease.Collect)
	return nil
}

// ReportStorageVersions writes in StorageVersions how the server stores the objects of built-in kinds, now and every
// ten minutes until ReleaseIdentity (KEP-2339). name is the name of the server's identity Lease, which must
// exist: otherwise the storageversion-garbage-collector-controller removes what is reported. The server's table
// must have the kind. It must be called at most once, before other clients write.
func (s *Server) ReportStorageVersions(ctx context.Context, name string) error {
	client, err := s.identityClient()
	if err != nil {
		return err
	}
	reporter := &identity.Reporter{Client: client, Clock: s.opts.Clock, Rows: s.table.All(), Server: name}
	if err := reporter.Report(ctx); err != nil {
		return err
	}
	s.repeat(identity.ReportInterval, reporter.Report)
	return nil
}

func (s *Server) identityClient() (kubernetes.Interface, error) {
	client, err := kubernetes.NewForConfig(Protobuf(s.ownConfig()))
	if err != nil {
		return nil, fmt.Errorf("making the client of the server's identity: %w", err)
	}
	return client, nil
}

// repeat does something periodically until ReleaseIdentity. An error is logged.
func (s *Server) repeat(interval time.Duration, do func(ctx context.Context) error) {
	s.identified.works = append(s.identified.works, upkeep.Start(s.opts.Clock, interval, func(ctx context.Context) {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			s.opts.Logger.Error(err, "Writing what identifies this server")
		}
	}))
}

// ReleaseIdentity ends the periodic work of KeepIdentity and ReportStorageVersions, and deletes the Lease. It
// may be called more than once.
func (s *Server) ReleaseIdentity(ctx context.Context) error {
	lease := s.identified.lease
	for _, work := range s.identified.works {
		work.Stop()
	}
	s.identified = identified{}
	if lease == nil {
		return nil
	}
	return lease.Release(ctx)
}
