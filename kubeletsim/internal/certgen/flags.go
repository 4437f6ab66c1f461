package certgen

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// command is a parsed command line.
type command struct {
	create            bool
	namespace, secret string
	// certName, keyName and caName are the keys of the Secret.
	certName, keyName, caName string
	hosts                     []string
	// validating and mutating are the names of the webhook configurations to patch; crds and
	// apiServices are the names of the other objects to patch.
	validating, mutating string
	crds, apiServices    []string
	failurePolicy        admissionregistrationv1.FailurePolicyType
}

const usage = `usage: minikcm-certgen create --host NAME[,NAME...] --namespace NAMESPACE --secret-name NAME [--cert-name cert] [--key-name key] [--ca-name ca]
       minikcm-certgen patch --namespace NAMESPACE --secret-name NAME [--ca-name ca] [--webhook-name NAME] [--patch-validating=true] [--patch-mutating=true] [--patch-failure-policy Fail|Ignore] [--crds NAME,...] [--apiservice-name NAME,...]`

// flagsOf has the flags of both commands, and their defaults. The empty command stands for both.
var flagsOf = map[string]map[string]string{
	"": {"namespace": "", "secret-name": "", "ca-name": "ca", "log-level": "", "log-format": "", "kubeconfig": ""},
	"create": {
		"host": "", "cert-name": "cert", "key-name": "key",
	},
	"patch": {
		"webhook-name": "", "patch-validating": "true", "patch-mutating": "true", "patch-failure-policy": "", "crds": "", "apiservice-name": "", "patch-namespace": "",
	},
}

// parse reads the arguments that follow the program's name.
func parse(args []string) (*command, error) {
	if len(args) == 0 {
		return nil, errors.New(usage)
	}
	name := args[0]
	if name != "create" && name != "patch" {
		return nil, fmt.Errorf("unknown command %q\n%s", name, usage)
	}
	values, err := parseFlags(name, args[1:])
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, usage)
	}
	c := &command{
		create: name == "create", namespace: values["namespace"], secret: values["secret-name"],
		certName: values["cert-name"], keyName: values["key-name"], caName: values["ca-name"],
		hosts: list(values["host"]), crds: list(values["crds"]), apiServices: list(values["apiservice-name"]),
		failurePolicy: admissionregistrationv1.FailurePolicyType(values["patch-failure-policy"]),
	}
	if values["patch-validating"] == "true" {
		c.validating = values["webhook-name"]
	}
	if values["patch-mutating"] == "true" {
		c.mutating = values["webhook-name"]
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, usage)
	}
	return c, nil
}

func (c *command) check() error {
	policies := []admissionregistrationv1.FailurePolicyType{"", admissionregistrationv1.Fail, admissionregistrationv1.Ignore}
	switch {
	case c.namespace == "" || c.secret == "":
		return errors.New("--namespace and --secret-name must be specified")
	case c.create && len(c.hosts) == 0:
		return errors.New("--host must be specified")
	case !slices.Contains(policies, c.failurePolicy):
		return fmt.Errorf("--patch-failure-policy is %q, must be Fail or Ignore", c.failurePolicy)
	case !c.create && c.validating == "" && c.mutating == "" && len(c.crds) == 0 && len(c.apiServices) == 0:
		return errors.New("there is nothing to patch: --webhook-name, --crds or --apiservice-name must be specified")
	}
	return nil
}

// parseFlags returns the values of flags, --name=value or --name value.
func parseFlags(name string, args []string) (map[string]string, error) {
	values := map[string]string{}
	for _, of := range []string{"", name} {
		for flag, value := range flagsOf[of] {
			values[flag] = value
		}
	}
	for len(args) > 0 {
		flag, dashes := strings.CutPrefix(args[0], "--")
		flag, value, given := strings.Cut(flag, "=")
		args = args[1:]
		before, known := values[flag]
		isBool := before == "true" || before == "false"
		switch {
		case !dashes:
			return nil, fmt.Errorf("unexpected argument %q", flag)
		case !known:
			return nil, fmt.Errorf("unknown flag --%s", flag)
		case !given && isBool:
			value = "true"
		case !given && len(args) == 0:
			return nil, fmt.Errorf("--%s needs a value", flag)
		case !given:
			value, args = args[0], args[1:]
		}
		if isBool && value != "true" && value != "false" {
			return nil, fmt.Errorf("--%s is %q, must be true or false", flag, value)
		}
		values[flag] = value
	}
	return values, nil
}

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}
