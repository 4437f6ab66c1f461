package minikcm

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/members"
)

// identify makes the API server known to others as the feature gates say: by a Lease, and by the StorageVersions
// that it reports. Apart from the API server's own objects, nothing has been written before, and no client can write:
// the StorageVersions hold for every object. Parts that it starts end with parts.
//
// On a shared store, it is the Lease of the member, which takes roles later (startSharing).
func (c *Cluster) identify(ctx, parts context.Context, e *controllers.Env) error {
	gates := c.opts.gates()
	if !gates.Enabled(featuregates.APIServerIdentity) || c.opts.shares() && !gates.Enabled(featuregates.StorageVersionAPI) {
		return nil
	}
	keep := c.keepLease
	if c.opts.shares() {
		keep = func(ctx context.Context) (string, error) { return c.announce(ctx, parts, e) }
	}
	name, err := keep(ctx)
	if err != nil || !gates.Enabled(featuregates.StorageVersionAPI) {
		return err
	}
	return c.server.ReportStorageVersions(ctx, name)
}

// announce makes this process a member that takes no roles yet, and returns the name of its Lease.
func (c *Cluster) announce(ctx, parts context.Context, e *controllers.Env) (string, error) {
	selected, err := c.selectedControllers()
	if err != nil {
		return "", err
	}
	member, err := c.newMember(parts, e, selected)
	if err != nil {
		return "", err
	}
	if err := member.Announce(ctx); err != nil {
		return "", fmt.Errorf("creating the Lease of this process: %w", err)
	}
	c.announced = member
	c.runPart(parts, part{membership, member.Run})
	return member.Name(), nil
}

// virtualHost stands for the name of the host on a virtual clock, so that a run is the same on every machine.
const virtualHost = "minikcm"

// keepLease lets the server keep an identity Lease, and returns its name. As upstream, all processes on this
// host use the same name.
func (c *Cluster) keepLease(ctx context.Context) (string, error) {
	hostname := ""
	if c.virtual == nil {
		var err error
		if hostname, err = os.Hostname(); err != nil {
			return "", fmt.Errorf("reading the host's name for the API server's identity: %w", err)
		}
	}
	name := members.Name(cmp.Or(hostname, virtualHost))
	return name, c.server.KeepIdentity(ctx, name, hostname)
}

// endIdentity deletes the Lease of keepLease, and ends the reports.
func (c *Cluster) endIdentity(ctx context.Context) {
	if c.server == nil {
		return
	}
	if err := c.server.ReleaseIdentity(ctx); err != nil {
		c.opts.Notices.Error(err, "The Lease of the API server expires", "after", apiserver.IdentityLeaseDuration)
	}
}
