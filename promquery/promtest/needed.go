package promtest

// NeededSeries are the series that the cost of a cluster needs. The list is frozen: what promcost reads beyond it is its own loss.
func NeededSeries() []string {
	return []string{
		"kube_pod_container_status_running", "kube_pod_init_container_status_running",
		"kube_pod_container_state_started", "kube_pod_container_status_last_terminated_timestamp",
		"kube_pod_info", "kube_pod_start_time", "kube_pod_completion_time", "kube_pod_owner", "kube_replicaset_owner", "kube_job_owner",
		"kube_pod_labels", "kube_pod_annotations", "kube_namespace_labels",
		`kube_pod_container_resource_requests{resource=~"cpu|memory|(nvidia|amd)_com_(gpu|mig_.*)|.*shared.*"}`,
		`kube_pod_init_container_resource_requests{resource=~"cpu|memory"}`,
		"kube_endpointslice_labels", `kube_endpointslice_endpoints{targetref_kind="Pod"}`,
		"kube_node_info", "kube_node_labels", "kube_node_created",
		`kube_node_status_capacity{resource=~"cpu|memory|ephemeral_storage|(nvidia|amd)_com_(gpu|mig_.*)|.*shared.*"}`,
		"node_cpu_hourly_cost", "node_ram_hourly_cost", "node_gpu_hourly_cost", "kubecost_node_is_spot",
		`container_cpu_usage_seconds_total{container!="",container!="POD"}`, `container_memory_working_set_bytes{container!="",container!="POD"}`,
		"DCGM_FI_PROF_GR_ENGINE_ACTIVE",
		`container_network_transmit_bytes_total{pod!=""}`, `container_network_receive_bytes_total{pod!=""}`, "kubecost_pod_network_egress_bytes_total",
		"kubecost_network_zone_egress_cost", "kubecost_network_region_egress_cost", "kubecost_network_internet_egress_cost",
		"kube_persistentvolume_info", "kube_persistentvolume_capacity_bytes", "kube_persistentvolumeclaim_info", "kube_pod_spec_volumes_persistentvolumeclaims_info", "pv_hourly_cost",
		`container_fs_limit_bytes{id="/",device=~"/dev/((sd|vd|xvd|nvme[0-9]+n|mmcblk|dm-|md|mapper/).*|root)"}`,
		`kube_service_spec_type{type="LoadBalancer"}`, "kube_service_status_load_balancer_ingress", "kubecost_load_balancer_cost", "kubecost_cluster_management_cost",
	}
}
