package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/golden"
)

func TestPrintControllers(t *testing.T) {
	now := time.Unix(1_000_000, 0).UTC()
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	all := []controllers.Status{
		{Name: "deployment-controller", State: controllers.Running, Workers: 5, Queued: 3, Reconciles: 120},
		{
			Name: "replicaset-controller", State: controllers.Running, Workers: 5, Reconciles: 77, Failures: 9, Retries: 9, Panics: 1,
			InProgress: []controllers.InProgress{{Key: "default/web-1", Since: ago(90 * time.Second)}, {Key: "default/web-2", Since: ago(time.Second)}},
			Failing:    []controllers.Failing{{Key: "default/bad", Failures: 8}, {Key: "default/worse", Failures: 1}},
			LastError:  &controllers.LastError{Key: "default/bad", Message: "pods \"bad-x\" is forbidden: exceeded quota:\n compute, requested: pods=1, used: pods=3", Time: ago(5 * time.Minute)},
		},
		{Name: "job-controller", State: controllers.Failed, Restarts: 2, LastError: &controllers.LastError{Message: "it stopped unexpectedly", Time: ago(time.Hour)}},
		{Name: "cronjob-controller", State: controllers.Disabled},
	}
	var out bytes.Buffer
	for _, output := range []string{"", "wide", "yaml"} {
		out.WriteString("$ minikcm controllers " + output + "\n")
		if output == "yaml" {
			if err := controllerPrinters()[output](&out, all[2:]); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := printControllers(&out, all, output == "wide", now); err != nil {
			t.Fatal(err)
		}
	}
	golden.Compare(t, "testdata/controllers.golden", out.String())
}

func TestChooseControllers(t *testing.T) {
	all := []controllers.Status{{Name: "deployment-controller"}, {Name: "job-controller"}}
	if got, err := chooseControllers(all, []string{"job"}); err != nil || len(got) != 1 || got[0].Name != "job-controller" {
		t.Errorf("chooseControllers() = %v, %v", got, err)
	}
	if _, err := chooseControllers(all, []string{"jbo"}); err == nil || !strings.Contains(err.Error(), `"jbo" is not a controller`) {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestControllersOfARunningCluster(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	up, kubeconfig := launchUp(t, home, "--controllers=*,-cronjob")
	p := launch(t, home, "run", "controllers", "deployment", "cronjob", "-o", "json", "--kubeconfig", kubeconfig)
	code, out := p.end()
	var all []controllers.Status
	if err := json.Unmarshal([]byte(out), &all); code != 0 || err != nil || len(all) != 2 {
		t.Fatalf("it ends with %d, %v: %s%s", code, err, out, p.stderr.String())
	}
	if all[0].Name != "deployment-controller" || all[0].State != controllers.Running || all[1].Name != "cronjob-controller" || all[1].State != controllers.Disabled {
		t.Errorf("the controllers are %+v", all)
	}
	wrong := launch(t, home, "run", "controllers", "deplyment")
	if code, out := wrong.end(); code != 2 || out != "" || !strings.Contains(wrong.stderr.String(), `"deplyment" is not a controller`) {
		t.Errorf("with a wrong name it ends with %d: %s%s", code, out, wrong.stderr.String())
	}
	up.stop()
	gone := launch(t, home, "run", "controllers", "--kubeconfig", kubeconfig)
	if code, _ := gone.end(); code != 2 || !strings.Contains(gone.stderr.String(), "start a cluster with") {
		t.Errorf("without a cluster it ends with %d: %s", code, gone.stderr.String())
	}
}
