package audit

import (
	"fmt"
	"io"
	"os"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/apis/audit/validation"
	"k8s.io/apiserver/pkg/audit/policy"

	"minikcm.dev/minikcm/internal/nesting"
)

// maxPolicyBytes and maxPolicyDepth limit a policy file.
const (
	maxPolicyBytes = 1 << 20
	maxPolicyDepth = 100
)

// readPolicy returns the policy of the options, or nil if they name none.
func (o *Options) readPolicy() (*auditinternal.Policy, error) {
	if o.Policy != nil {
		internal := &auditinternal.Policy{}
		if err := auditv1.Convert_v1_Policy_To_audit_Policy(o.Policy.DeepCopy(), internal, nil); err != nil {
			return nil, fmt.Errorf("reading the audit policy: %w", err)
		}
		if errs := validation.ValidatePolicy(internal); len(errs) > 0 {
			return nil, fmt.Errorf("audit policy: %w", errs.ToAggregate())
		}
		return internal, nil
	}
	if o.PolicyFile == "" {
		return nil, nil
	}
	file, err := os.Open(o.PolicyFile)
	if err != nil {
		return nil, fmt.Errorf("--audit-policy-file: %w", err)
	}
	defer file.Close() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, maxPolicyBytes+1))
	if err != nil {
		return nil, fmt.Errorf("--audit-policy-file: reading %s: %w", o.PolicyFile, err)
	}
	read, err := parsePolicy(data)
	if err != nil {
		return nil, fmt.Errorf("--audit-policy-file %s: %w", o.PolicyFile, err)
	}
	return read, nil
}

// parsePolicy parses a policy in YAML or JSON. As upstream, fields that do not exist are
// ignored, with a warning in the log.
func parsePolicy(data []byte) (*auditinternal.Policy, error) {
	if len(data) > maxPolicyBytes {
		return nil, fmt.Errorf("the file has more than %d bytes", maxPolicyBytes)
	}
	if err := nesting.YAML(data, maxPolicyDepth, maxPolicyBytes); err != nil {
		return nil, err
	}
	return policy.LoadPolicyFromBytes(data)
}
