// Package bucket opens the object stores that a history can be kept in.
package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-kit/log"
	"github.com/thanos-io/objstore"
	"github.com/thanos-io/objstore/providers/azure"
	"github.com/thanos-io/objstore/providers/filesystem"
	"github.com/thanos-io/objstore/providers/gcs"
	"github.com/thanos-io/objstore/providers/s3"
	"go.yaml.in/yaml/v3"
)

// settings is the file that describes an object store.
type settings struct {
	Type   string `yaml:"type"`
	Config any    `yaml:"config"`
	Prefix string `yaml:"prefix"`
}

// Open opens the object store that a file describes; what is the setting that names the file. The file may have secrets, so errors do
// not show it.
func Open(what, file string, logger log.Logger) (objstore.Bucket, error) {
	cfg, err := read(what, file)
	if err != nil {
		return nil, err
	}
	inner, err := yaml.Marshal(cfg.Config)
	if err != nil {
		return nil, fmt.Errorf("read %s %s: encode config: %w", what, file, err)
	}
	const component = "promcost"
	var bucket objstore.Bucket
	switch objstore.ObjProvider(strings.ToUpper(cfg.Type)) {
	case objstore.S3:
		bucket, err = s3.NewBucket(logger, inner, component, nil)
	case objstore.GCS:
		bucket, err = gcs.NewBucket(context.Background(), logger, inner, component, nil)
	case objstore.AZURE:
		bucket, err = azure.NewBucket(logger, inner, component, nil)
	case objstore.FILESYSTEM:
		bucket, err = filesystem.NewBucketFromConfig(inner)
	default:
		return nil, fmt.Errorf("read %s %s: type %q is not known: use S3, GCS, AZURE or FILESYSTEM", what, file, cfg.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("open the object store of %s %s: %w", what, file, err)
	}
	return objstore.NewPrefixedBucket(bucket, cfg.Prefix), nil
}

// Directory returns the directory that the objects of a store lie in as files, "" for a store that is no directory.
func Directory(what, file string) (string, error) {
	cfg, err := read(what, file)
	if err != nil || !strings.EqualFold(cfg.Type, string(objstore.FILESYSTEM)) {
		return "", err
	}
	inner, _ := cfg.Config.(map[string]any)
	root, _ := inner["directory"].(string)
	return filepath.Join(root, filepath.FromSlash(cfg.Prefix)), nil
}

// read reads the file that describes an object store.
func read(what, file string) (cfg settings, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return settings{}, fmt.Errorf("read %s: %w: give a readable YAML file", what, err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&cfg); err != nil {
		return settings{}, fmt.Errorf("read %s %s: it is not what Thanos takes for an object store: give type, config and prefix", what, file)
	}
	return cfg, nil
}

// HasCredentials reports whether a file that describes an object store has something that is to be kept secret.
func HasCredentials(text []byte) (bool, error) {
	cfg := settings{}
	if err := yaml.Unmarshal(text, &cfg); err != nil {
		return false, errors.New("it is not what Thanos takes for an object store: give type, config and prefix")
	}
	return hasSecret(cfg.Config), nil
}

// secretKey is what keys are called whose values are to be kept secret.
var secretKey = regexp.MustCompile(`(?i)secret|key|token|password|service_account|connection_string|credential|authorization`)

// hasSecret reports whether a value decoded from YAML has a text at a key of something secret.
func hasSecret(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, element := range value {
			text, isText := element.(string)
			if isText && text != "" && secretKey.MatchString(key) || hasSecret(element) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, hasSecret)
	}
	return false
}
