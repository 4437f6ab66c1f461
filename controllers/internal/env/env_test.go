package env

import (
	"errors"
	"testing"

	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/loop"
)

func TestAccount(t *testing.T) {
	e := &Env{Config: &rest.Config{Host: "shared"}, AccountOf: map[string]string{"deployment-controller": "deployer"}}
	if config, err := e.ConfigFor("deployment-controller"); err != nil || config.Host != "shared" || config.UserAgent != "minikcm/deployment-controller" {
		t.Errorf("without accounts: %+v, %v", config, err)
	}
	denied := errors.New("denied")
	e.Account = func(name string) (*rest.Config, error) {
		if name != "deployer" {
			return nil, denied
		}
		return &rest.Config{Host: "own"}, nil
	}
	if config, err := e.ConfigFor("deployment-controller"); err != nil || config.Host != "own" || config.UserAgent != "minikcm/deployment-controller" {
		t.Errorf("with accounts: %+v, %v", config, err)
	}
	if config, err := e.ConfigFor("job-controller"); err != nil || config.Host != "shared" {
		t.Errorf("of a controller without an account: %+v, %v", config, err)
	}
	e.AccountOf["job-controller"] = "nobody"
	if _, _, err := e.ClientFor("job-controller"); !errors.Is(err, denied) {
		t.Errorf("of an account that there is none of: %v", err)
	}
}

func TestWorkers(t *testing.T) {
	registry := &loop.Registry{}
	e := &Env{Workers: map[string]int{"job-controller": 9}, Loops: registry}
	if opts := e.LoopOptions("job-controller", 5); opts.Workers != 9 || opts.Registry != registry {
		t.Errorf("options %+v", opts)
	}
	if opts := e.LoopOptions("job-controller-orphans", 1); opts.Workers != 1 {
		t.Errorf("options %+v", opts)
	}
}
