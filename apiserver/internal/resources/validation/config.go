package validation

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func ConfigMap(c *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for _, key := range sortedKeys(c.Data) {
		errs = append(errs, validateDataKey("data", key)...)
		if _, both := c.BinaryData[key]; both {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
		size += len(c.Data[key])
	}
	for _, key := range sortedKeys(c.BinaryData) {
		errs = append(errs, validateDataKey("binaryData", key)...)
		size += len(c.BinaryData[key])
	}
	if size > maxObjectBytes {
		errs = append(errs, field.TooLong(field.NewPath(""), "", maxObjectBytes))
	}
	return errs
}

func validateDataKey(name, key string) field.ErrorList {
	return invalidFor(field.NewPath(name).Key(key), key, validation.IsConfigMapKey(key))
}

func ConfigMapUpdate(c, old *corev1.ConfigMap) field.ErrorList {
	if !deref(old.Immutable) {
		return nil
	}
	return stillImmutable(deref(c.Immutable),
		frozen{"data", apiequality.Semantic.DeepEqual(c.Data, old.Data)},
		frozen{"binaryData", apiequality.Semantic.DeepEqual(c.BinaryData, old.BinaryData)})
}

// frozen is a field of an immutable object, and whether it is unchanged.
type frozen struct {
	name string
	same bool
}

func stillImmutable(set bool, parts ...frozen) field.ErrorList {
	var errs field.ErrorList
	for _, part := range append([]frozen{{"immutable", set}}, parts...) {
		if !part.same {
			errs = append(errs, field.Forbidden(field.NewPath(part.name), immutableWhenSet))
		}
	}
	return errs
}

func Secret(s *corev1.Secret) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for _, key := range sortedKeys(s.Data) {
		errs = append(errs, validateDataKey("data", key)...)
		size += len(s.Data[key])
	}
	if size > maxObjectBytes {
		errs = append(errs, field.TooLong(field.NewPath("data"), "", maxObjectBytes))
	}
	return append(errs, validateSecretType(s)...)
}

// validateSecretType requires the data that a secret of the type must have.
func validateSecretType(s *corev1.Secret) field.ErrorList {
	data := field.NewPath("data")
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			return field.ErrorList{field.Required(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), "")}
		}
	case corev1.SecretTypeDockercfg:
		return requiredJSON(data.Key(corev1.DockerConfigKey), s.Data, corev1.DockerConfigKey)
	case corev1.SecretTypeDockerConfigJson:
		return requiredJSON(data.Key(corev1.DockerConfigJsonKey), s.Data, corev1.DockerConfigJsonKey)
	case corev1.SecretTypeBasicAuth:
		_, user := s.Data[corev1.BasicAuthUsernameKey]
		_, password := s.Data[corev1.BasicAuthPasswordKey]
		if !user && !password {
			return field.ErrorList{
				field.Required(data.Key(corev1.BasicAuthUsernameKey), ""),
				field.Required(data.Key(corev1.BasicAuthPasswordKey), ""),
			}
		}
	case corev1.SecretTypeSSHAuth:
		if len(s.Data[corev1.SSHAuthPrivateKey]) == 0 {
			return field.ErrorList{field.Required(data.Key(corev1.SSHAuthPrivateKey), "")}
		}
	case corev1.SecretTypeTLS:
		var errs field.ErrorList
		for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
			if _, present := s.Data[key]; !present {
				errs = append(errs, field.Required(data.Key(key), ""))
			}
		}
		return errs
	}
	return nil
}

func requiredJSON(p *field.Path, data map[string][]byte, key string) field.ErrorList {
	content, present := data[key]
	if !present {
		return field.ErrorList{field.Required(p, "")}
	}
	var object map[string]any
	if err := json.Unmarshal(content, &object); err != nil {
		return field.ErrorList{field.Invalid(p, "<secret contents redacted>", err.Error())}
	}
	return nil
}

func SecretUpdate(s, old *corev1.Secret) field.ErrorList {
	errs := immutable(field.NewPath("type"), s.Type, old.Type)
	if deref(old.Immutable) {
		errs = append(errs, stillImmutable(deref(s.Immutable), frozen{"data", apiequality.Semantic.DeepEqual(s.Data, old.Data)})...)
	}
	return errs
}
