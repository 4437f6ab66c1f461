package clients

import (
	"strings"
	"testing"
)

// helm runs helm in the namespace shop.
func (c *cluster) helm(args ...string) string {
	c.t.Helper()
	return c.must("", helmBinary.path(c.t), append(args, "--namespace", "shop")...)
}

func (c *cluster) wantIn(what, text string, wanted ...string) {
	c.t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			c.t.Errorf("%s has no %q:\n%s", what, want, text)
		}
	}
}

// TestHelm installs, upgrades, rolls back and uninstalls a chart.
func TestHelm(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	const chart = "testdata/chart"
	get := func(what, path string) string {
		t.Helper()
		return c.kubectl("get", "-n", "shop", what, "-o", "jsonpath={"+path+"}")
	}
	out := c.helm("install", "corner", chart, "--create-namespace", "--wait", "--timeout", "2m")
	c.wantIn("install", out, "STATUS: deployed", "REVISION: 1", "corner greets with hello.")
	if ready := get("deploy/corner", ".status.readyReplicas"); ready != "2" {
		t.Errorf("install --wait: %q replicas are ready", ready)
	}
	c.wantIn("jobs", c.kubectl("get", "jobs", "-n", "shop"), "corner-post-install   Complete")
	token := get("secret/corner", ".data.token")

	c.wantIn("upgrade", c.helm("upgrade", "corner", chart, "--set", "greeting=salut,replicas=3", "--wait", "--timeout", "2m"), "REVISION: 2", "greets with salut")
	if got := get("deploy/corner", ".status.readyReplicas") + get("cm/corner", ".data.greeting"); got != "3salut" {
		t.Errorf("upgraded: %s", got)
	}
	if now := get("secret/corner", ".data.token"); now != token {
		t.Error("lookup did not find the secret")
	}
	c.wantIn("test", c.helm("test", "corner", "--logs", "--timeout", "2m"), "Phase:          Succeeded", "the shop is open")

	// A failed upgrade is rolled back.
	r := c.run("", helmBinary.path(t), "upgrade", "corner", chart, "-n", "shop", "--set", "broken=true", "--rollback-on-failure", "--wait", "--timeout", "5s")
	if r.code == 0 || !strings.Contains(r.err, "rollback") {
		t.Errorf("a broken upgrade: %+v", r)
	}
	if got := get("deploy/corner", ".spec.template.spec.nodeSelector") + get("cm/corner", ".data.greeting"); got != "salut" {
		t.Errorf("taken back: %s", got)
	}
	c.wantIn("rollback", c.helm("rollback", "corner", "1", "--wait", "--timeout", "2m"), "Rollback was a success")
	if got := get("deploy/corner", ".spec.replicas") + get("cm/corner", ".data.greeting"); got != "2hello" {
		t.Errorf("rolled back: %s", got)
	}
	c.wantIn("history", c.helm("history", "corner"), "Install complete", "Upgrade complete", "failed", "Rollback to 2", "Rollback to 1")
	c.wantIn("list", c.helm("list"), "corner", "deployed", "shop-1.0.0")
	c.wantIn("status", c.helm("status", "corner"), "==> v1/Deployment", "==> v1/Voucher", "STATUS: deployed")
	c.wantIn("get manifest", c.helm("get", "manifest", "corner"), "kind: Voucher")
	c.wantIn("dry run", c.helm("upgrade", "corner", chart, "--dry-run=server"), "pending-upgrade")

	c.wantIn("uninstall", c.helm("uninstall", "corner", "--wait", "--timeout", "2m"), `release "corner" uninstalled`)
	if left := c.kubectl("get", "-n", "shop", "deploy,rs,pods,svc,cm,secrets,vouchers,pdb", "-l", "app.kubernetes.io/instance=corner", "-o", "name"); left != "" {
		t.Errorf("left:\n%s", left)
	}
	if left := c.kubectl("get", "crd", "-o", "name"); !strings.Contains(left, "vouchers") {
		t.Errorf("helm leaves definitions: %s", left)
	}
}
