// Runs before the first paint: a choice between dark and light wins over the system's.
try {
  document.documentElement.dataset.theme = localStorage.getItem("promcost-theme") ?? "";
} catch {
  // The browser keeps nothing for this page. The system's choice it is.
}
