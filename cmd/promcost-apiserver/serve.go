package main

import (
	"context"
	"fmt"
	"net"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/promcost/promcost/allocation/kubeapi"
)

// serve serves the API until ctx ends.
func serve(ctx context.Context, f *flags, logger log.Logger) error {
	client, err := f.client()
	if err != nil {
		return err
	}
	costs := kubeapi.NewServer(client, kubeapi.Config{MaxMemory: int64(f.maxMemory)})
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.address)
	if err != nil {
		return fmt.Errorf("%w: give a free address with --web.listen-address=HOST:PORT", err)
	}
	own, err := f.certificate()
	if err != nil {
		return err
	}
	scheme := kubeapi.NewScheme()
	codecs := serializer.NewCodecFactory(scheme)
	cfg, err := f.config(codecs, scheme, listener, own)
	if err != nil {
		return err
	}
	s, err := cfg.Complete(nil).New("promcost-apiserver", server.NewEmptyDelegate())
	if err != nil {
		return fmt.Errorf("make server: %w", err)
	}
	if err := install(s, scheme, codecs, costs); err != nil {
		return err
	}
	go costs.Run(ctx, func(err error) {
		level.Warn(logger).Log("msg", "promcost does not say which hour is closed", "err", err)
	})
	if own != nil {
		trust, err := own.truster(f.kubeconfig)
		if err != nil {
			return err
		}
		go trust.run(ctx, logger)
	}
	level.Info(logger).Log("msg", "serving", "group", kubeapi.GroupVersion, "address", listener.Addr())
	return s.PrepareRun().RunWithContext(ctx)
}

// config sets the server up: who asks is found out and allowed by the Kubernetes API.
func (f *flags) config(codecs serializer.CodecFactory, scheme *runtime.Scheme, listener net.Listener, own *authority) (*server.Config, error) {
	cfg := server.NewConfig(codecs)
	cfg.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	cfg.EnableProfiling = false
	namer := openapinamer.NewDefinitionNamer(scheme)
	cfg.OpenAPIConfig = server.DefaultOpenAPIConfig(definitions, namer)
	cfg.OpenAPIV3Config = server.DefaultOpenAPIV3Config(definitions, namer)
	cfg.OpenAPIConfig.Info.Title, cfg.OpenAPIV3Config.Info.Title = "promcost", "promcost"
	external := func(definition func(string) (string, spec.Extensions)) func(string) (string, spec.Extensions) {
		return func(name string) (string, spec.Extensions) { return externalOnly(definition(name)) }
	}
	cfg.OpenAPIConfig.GetDefinitionName = external(cfg.OpenAPIConfig.GetDefinitionName)
	cfg.OpenAPIV3Config.GetDefinitionName = external(cfg.OpenAPIV3Config.GetDefinitionName)

	serving := options.NewSecureServingOptions().WithLoopback()
	serving.Listener = listener
	if own == nil {
		serving.ServerCert.CertKey = options.CertKey{CertFile: f.certFile, KeyFile: f.keyFile}
	} else {
		serving.ServerCert.GeneratedCert = own
	}
	if err := serving.ApplyTo(&cfg.SecureServing, &cfg.LoopbackClientConfig); err != nil {
		return nil, fmt.Errorf("serve by TLS: %w", err)
	}
	authentication := options.NewDelegatingAuthenticationOptions()
	authentication.RemoteKubeConfigFile = f.kubeconfig
	if err := authentication.ApplyTo(&cfg.Authentication, cfg.SecureServing, cfg.OpenAPIConfig); err != nil {
		return nil, fmt.Errorf("ask the Kubernetes API who asks: %w", err)
	}
	authorization := options.NewDelegatingAuthorizationOptions()
	authorization.RemoteKubeConfigFile = f.kubeconfig
	if err := authorization.ApplyTo(&cfg.Authorization); err != nil {
		return nil, fmt.Errorf("ask the Kubernetes API what is allowed: %w", err)
	}
	return cfg, nil
}

// install adds the resources to a server.
func install(s *server.GenericAPIServer, scheme *runtime.Scheme, codecs serializer.CodecFactory, costs *kubeapi.Server) error {
	group := server.NewDefaultAPIGroupInfo(kubeapi.GroupVersion.Group, scheme, runtime.NewParameterCodec(scheme), codecs)
	storage := map[string]rest.Storage{}
	for name, resource := range kubeapi.Resources(costs, kubeapi.Request{
		Namespace: request.NamespaceValue,
		Warn:      func(ctx context.Context, text string) { warning.AddWarning(ctx, "", text) },
	}) {
		storage[name] = resource
	}
	group.VersionedResourcesStorageMap[kubeapi.GroupVersion.Version] = storage
	if err := s.InstallAPIGroup(&group); err != nil {
		return fmt.Errorf("install resources: %w", err)
	}
	return nil
}

// What a resource has to be for an API server.
var (
	_ rest.Getter               = &kubeapi.Resource{}
	_ rest.Lister               = &kubeapi.Resource{}
	_ rest.Watcher              = &kubeapi.Resource{}
	_ rest.Scoper               = &kubeapi.Resource{}
	_ rest.SingularNameProvider = &kubeapi.Resource{}
	_ rest.ShortNamesProvider   = &kubeapi.Resource{}
)

// definitions are the OpenAPI definitions as the library wants them.
func definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := map[string]common.OpenAPIDefinition{}
	for name, d := range kubeapi.Definitions(ref) {
		all[name] = common.OpenAPIDefinition(d)
	}
	return all
}

// kindsExtension lists the kinds that a definition is of.
const kindsExtension = "x-kubernetes-group-version-kind"

// externalOnly leaves the internal version out of the kinds of a definition: its types are those of the other.
func externalOnly(name string, extensions spec.Extensions) (string, spec.Extensions) {
	kinds, ok := extensions[kindsExtension].([]any)
	if !ok {
		return name, extensions
	}
	var external []any
	for _, k := range kinds {
		if kind, ok := k.(map[string]any); !ok || kind["version"] != runtime.APIVersionInternal {
			external = append(external, k)
		}
	}
	return name, spec.Extensions{kindsExtension: external}
}
