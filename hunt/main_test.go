package hunt_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// operatorVariable names the operator as which the test's program runs.
const operatorVariable = "MINIKCM_HUNT_OPERATOR"

// programs are the operators that are run as programs.
var programs = map[string]reconciling{"sound": reconcileSound, "edged": reconcileEdged, "restless": reconcileRestless}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	if name := os.Getenv(operatorVariable); name != "" {
		if err := runProgram(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// runProgram runs an operator until the process is killed.
func runProgram(name string) error {
	if programs[name] == nil {
		return fmt.Errorf("there is no operator %q", name)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	if err := programs[name].setUp(mgr); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
